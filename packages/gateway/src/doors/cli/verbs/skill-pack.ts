import { resolve } from 'node:path';
import { textOf } from '../input.ts';
import { replaceFile } from '../out-file.ts';
import { shellWord } from '../shell-word.ts';
import { packFolder } from '../skill/package-file.ts';
import { entryRows, printEntries } from '../skill/show-package.ts';
import { folderOf } from '../skill/skill-folder.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  const { bytes, pkg } = packFolder(folderOf(invocation));
  const { id, version } = pkg.manifest;
  const out = textOf(invocation, 'out') ?? `${fileNameOf(id)}-${version}.skill`;
  replaceFile(resolve(edge.cwd, out), bytes);
  if (print.json) {
    const { artifact } = pkg;
    print.document({ file: out, skill: id, version, bytes: bytes.length, artifact, entries: entryRows(pkg) });
    return 0;
  }
  print.styled('green', 'packed', `  ${id} ${version} into ${out}`);
  print.line(`  ${bytes.length} bytes, sha256 ${pkg.artifact}`);
  printEntries(print, pkg);
  print.note('→', 'cyan', ` palisade skill sign ${shellWord(out)} --key FILE`);
  return 0;
}

/** The id without its publisher: ids and versions are plain, so no name of a file can mean another folder. */
function fileNameOf(id: string): string {
  return id.slice(id.indexOf('.') + 1).replaceAll('.', '-');
}
