import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import type { Manifest } from '../../../skills/manifest/manifest.ts';
import { requireManifest } from '../../../skills/manifest/parse-manifest.ts';
import { PACKAGE_FILES } from '../../../skills/package/skill-package.ts';
import { wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { readFolderFile } from './folder-file.ts';

/** The folder that the first argument names, or the one we are in; all links resolved. */
export function folderOf({ args, edge }: Invocation): string {
  const [given = '.'] = args;
  const path = resolve(edge.cwd, given);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return realpathSync.native(path);
  const is = stats === undefined ? 'there is no such folder' : 'it is a file';
  throw wrongUsage(`Cannot use "${given}": ${is}, expected the folder of a skill`);
}

/** The text of skill.toml, which is what makes a folder one of a skill. */
export function manifestBytes(folder: string): Uint8Array {
  const bytes = readFolderFile(folder, PACKAGE_FILES.manifest);
  if (bytes !== null) return bytes;
  throw new CodedError(
    'skill/invalid-manifest',
    `Cannot read the skill in "${folder}": there is no ${PACKAGE_FILES.manifest}, expected one`,
    { remedy: 'Name the folder of a skill, or make one with `palisade skill new DIR`.' },
  );
}

/** The manifest of a folder; throws with the first problem and its line. */
export function manifestOf(folder: string): Manifest {
  return requireManifest(manifestBytes(folder), (path) => readFolderFile(folder, path));
}
