import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { PACKAGE_LIMITS } from '../../../skills/package/limits.ts';
import { openPackage } from '../../../skills/package/open-package.ts';
import { packSkill } from '../../../skills/package/pack.ts';
import type { SkillPackage } from '../../../skills/package/skill-package.ts';
import { VERSION } from '../../../version.ts';
import { type Bound, readFileFlag } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { collectFiles } from './collect.ts';
import { manifestOf } from './skill-folder.ts';

/** A package as it lies in a file, or as packing would make it. */
export type PackageFile = {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly pkg: SkillPackage;
};

const BOUND: Bound = {
  maxBytes: PACKAGE_LIMITS.packageBytes,
  refuse: (name) =>
    new CodedError(
      'skill/invalid-package',
      `Cannot read ${name}: it has more than ${PACKAGE_LIMITS.packageBytes} bytes, expected no more`,
    ),
};

/** The package that an argument names, found to be sound. */
export async function readPackageFile({ edge }: Invocation, given: string): Promise<PackageFile> {
  const bytes = await readFileFlag(resolve(edge.cwd, given), BOUND);
  return { name: given, bytes, pkg: openPackage(bytes) };
}

/** The package that a folder makes; nothing is written. */
export function packFolder(folder: string): PackageFile {
  const manifest = manifestOf(folder);
  const bytes = packSkill(collectFiles(folder, manifest), { palisade: VERSION });
  return { name: folder, bytes, pkg: openPackage(bytes) };
}

/** The package in a file, or that of a folder: of the one we are in, where nothing is named. */
export async function packageOf(invocation: Invocation): Promise<PackageFile> {
  const [given = '.'] = invocation.args;
  const path = resolve(invocation.edge.cwd, given);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? packFolder(realpathSync.native(path)) : readPackageFile(invocation, given);
}
