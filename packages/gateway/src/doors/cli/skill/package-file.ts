import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { openPackage } from '../../../skills/package/open-package.ts';
import { packSkill } from '../../../skills/package/pack.ts';
import type { SkillPackage } from '../../../skills/package/skill-package.ts';
import { VERSION } from '../../../version.ts';
import type { Invocation } from '../verb.ts';
import { collectFiles } from './collect.ts';
import { readPackageFile } from './operate/package-file.ts';
import { manifestOf } from './skill-folder.ts';

/** A package as it lies in a file, or as packing would make it. */
export type PackageFile = {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly pkg: SkillPackage;
};

/** The package that an argument names, found to be sound. */
export async function openNamedPackage(invocation: Invocation, given: string): Promise<PackageFile> {
  const bytes = await readPackageFile(invocation, given);
  return { name: given, bytes, pkg: openPackage(bytes) };
}

/** The package that a folder makes; nothing is written. */
export function packFolder(folder: string): PackageFile {
  const manifest = manifestOf(folder);
  const files = collectFiles(folder, manifest);
  try {
    const bytes = packSkill(files, { palisade: VERSION });
    return { name: folder, bytes, pkg: openPackage(bytes) };
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'skill/invalid-package') throw error;
    // The remedy of the code is for those who got a package, and this is its author.
    throw new CodedError(error.code, error.message, {
      remedy: 'Correct what the message names, or build the modules anew with `palisade skill build`.',
    });
  }
}

/** The package in a file, or that of a folder: of the one we are in, where nothing is named. */
export async function packageOf(invocation: Invocation): Promise<PackageFile> {
  const [given = '.'] = invocation.args;
  const path = resolve(invocation.edge.cwd, given);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? packFolder(realpathSync.native(path)) : openNamedPackage(invocation, given);
}
