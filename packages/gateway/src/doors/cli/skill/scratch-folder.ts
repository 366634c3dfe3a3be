import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { readFolderFile } from './folder-file.ts';
import { WORLD } from './templates/languages.table.ts';

/** A folder of our own in that of the skill, where the compiler puts what is not finished; gone after the build. */
export type ScratchFolder = { readonly name: string; readonly path: string; readonly remove: () => void };

const PREFIX = '.palisade-build-';

/** Makes it under a name that nobody can have guessed. */
export function makeScratchFolder(folder: string): ScratchFolder {
  const path = makeFolder(folder);
  return { name: basename(path), path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

function makeFolder(folder: string): string {
  try {
    return mkdtempSync(join(folder, PREFIX));
  } catch (error) {
    const { code } = error as { code?: string };
    throw new CodedError(
      'skill/build-failed',
      `Cannot build in "${folder}": it gives ${code}, expected a folder that can be written`,
      { remedy: 'Take a folder of your own, with space left on its disk.' },
    );
  }
}

/** Puts the world of a component where the compiler looks: that beside its source, or a plain one, over the WIT of palisade. */
export function layOutWorld(
  scratch: ScratchFolder,
  { folder, source, guest }: { readonly folder: string; readonly source: string; readonly guest: string },
): string {
  const world = readFolderFile(folder, source.replace(/\.[^./]*$/, '.wit'));
  const [wit, ours] = [join(scratch.path, 'wit'), join(guest, 'wit')];
  const below = join(wit, 'deps/palisade-skill');
  mkdirSync(below, { recursive: true });
  for (const name of readdirSync(ours)) {
    // Boundary: this is read outside of the jail, so nothing in it may be a link to what the compiler must not see.
    const text = readFolderFile(guest, `wit/${name}`);
    if (text !== null) writeFileSync(join(below, name), text);
  }
  writeFileSync(join(wit, 'skill.wit'), world ?? WORLD);
  return `${scratch.name}/wit`;
}
