import { CODES } from '@palisade/sdk';
import { checkFolder, type FolderProblem } from '../skill/check-folder.ts';
import { folderOf } from '../skill/skill-folder.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const { manifest, problems, warnings } = await checkFolder(folderOf(invocation));
  const ok = problems.length === 0;
  const status = ok ? 0 : CODES['skill/invalid-manifest'].exitStatus;
  if (print.json) {
    const skill = manifest === null ? null : { id: manifest.id, version: manifest.version };
    print.document({ ok, skill, problems, warnings });
    return status;
  }
  for (const problem of problems) {
    print.line(`${placeOf(problem)}: ${problem.message}`);
    if (problem.hint !== null) print.block('  ', problem.hint);
  }
  for (const warning of warnings) {
    print.line(`${placeOf(warning)}: warning: ${warning.message}`);
    if (warning.hint !== null) print.block('  ', warning.hint);
  }
  if (ok && manifest !== null)
    print.note(
      'ok',
      'green',
      `  ${manifest.id} ${manifest.version}, ${manifest.tools.length} ${manifest.tools.length === 1 ? 'tool' : 'tools'}`,
    );
  else print.note('refused', 'red', `  ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`);
  return status;
}

function placeOf({ file, line, column }: FolderProblem): string {
  return [file, ...(line === null ? [] : [line]), ...(column === null ? [] : [column])].join(':');
}
