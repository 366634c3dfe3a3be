import { join, resolve } from 'node:path';
import { CODES } from '@palisade/sdk';
import { checkDocument } from '../../../operations/policies.ts';
import { checkDirectory } from '../../../policy/check.ts';
import { withKnownTools } from '../known-tools.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, print, stateDir, edge } = invocation;
  const [given] = args;
  const directory = given === undefined ? join(stateDir.path, 'policies') : resolve(edge.cwd, given);
  const result = await withKnownTools(invocation, (toolsOf) => checkDirectory(directory, toolsOf));
  const problems = result.ok ? [] : result.problems;
  const status = result.ok ? 0 : CODES['policy/unavailable'].exitStatus;
  if (print.json) {
    print.document(checkDocument(result));
    return status;
  }
  for (const { file, line, column, message, hint } of problems) {
    print.line(`${file}:${line}:${column}: ${message}`);
    if (hint) print.block('  ', hint);
  }
  for (const { file, line, column, message } of result.warnings)
    print.line(`${file}:${line}:${column}: warning: ${message}`);
  if (result.ok)
    print.note('ok', 'green', `  ${result.set.policies.length} policies, set ${result.set.digest}`);
  else
    print.note(
      'refused',
      'red',
      `  ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}; the live set stays as it is`,
    );
  return status;
}
