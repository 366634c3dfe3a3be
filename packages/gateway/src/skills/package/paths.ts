import type { Misfit } from '../../core/shape-problem.ts';
import { PACKAGE_LIMITS } from '../limits.ts';
import { type Entries, showText } from './skill-package.ts';

/*
 * The names that a file in a package may have. They mean the same file on every file system: plain ASCII, no reserved
 * name, and no two that differ only in case.
 */

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
/** Windows opens a device at these names in every folder, whatever extension follows. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

/** Whether a file in a package may have this path. */
export function isPackagePath(path: string): boolean {
  return pathMisfit(path) === null;
}

/** What is wrong with a path and what it should be, as a clause; null: nothing. */
export function pathProblem(path: string): string | null {
  const misfit = pathMisfit(path);
  return misfit === null ? null : `${misfit.is}, expected ${misfit.expected}`;
}

/** The same as data. */
export function pathMisfit(path: string): Misfit | null {
  // Boundary: no path of a package leaves the folder that it is unpacked into, or means another file elsewhere.
  const { pathChars, pathDepth } = PACKAGE_LIMITS;
  if (path.length > pathChars) {
    return { is: `its path has ${path.length} characters`, expected: `at most ${pathChars}` };
  }
  const segments = path.split('/');
  if (segments.length > pathDepth) {
    return { is: `its path has ${segments.length} parts`, expected: `at most ${pathDepth}` };
  }
  if (!segments.every((segment) => SEGMENT.test(segment) && !segment.endsWith('.'))) {
    const expected = 'parts of letters, digits, ".", "_" and "-" with "/" between them';
    return { is: 'its path is not plain', expected };
  }
  if (segments.some((segment) => DEVICE.test(segment))) {
    return { is: 'its path has the name of a Windows device in it', expected: 'another name' };
  }
  return null;
}

type Taken = { readonly spelling: string; readonly isFile: boolean };

/** Why two of the paths cannot be in one folder; null: they all can. */
export function collisionOf(paths: Iterable<string>): string | null {
  const taken = new Map<string, Taken>();
  for (const path of paths) {
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) {
      const problem = takeName(taken, { spelling: path.slice(0, end), isFile: false });
      if (problem !== null) return problem;
    }
    const problem = takeName(taken, { spelling: path, isFile: true });
    if (problem !== null) return problem;
  }
  return null;
}

function takeName(taken: Map<string, Taken>, name: Taken): string | null {
  const key = name.spelling.toLowerCase();
  const before = taken.get(key);
  if (before === undefined) {
    taken.set(key, name);
    return null;
  }
  // Boundary: a case-insensitive file system would overwrite an earlier file.
  if (before.spelling !== name.spelling) {
    return `"${before.spelling}" and "${name.spelling}" differ in upper and lower case only, expected one spelling`;
  }
  if (!before.isFile && !name.isFile) return null;
  const both = before.isFile && name.isFile;
  return `"${name.spelling}" is ${both ? 'there twice' : 'a file and a folder'}, expected one file`;
}

const WASM_MAGIC = Buffer.from('\0asm', 'latin1');

/** Why these files cannot be a package: the entry, what is and what should be; null: they can. */
export function entriesProblem(entries: Entries): string | null {
  if (entries.size > PACKAGE_LIMITS.entries) {
    return `it has ${entries.size} entries, expected at most ${PACKAGE_LIMITS.entries}`;
  }
  for (const [path, contents] of entries) {
    const problem = pathProblem(path) ?? contentsProblem(path, contents);
    if (problem !== null) return `entry ${showText(path)}: ${problem}`;
  }
  return collisionOf(entries.keys());
}

function contentsProblem(path: string, contents: Uint8Array): string | null {
  if (contents.length > PACKAGE_LIMITS.entryBytes) {
    return `it has ${contents.length} bytes, expected at most ${PACKAGE_LIMITS.entryBytes}`;
  }
  const name = path.toLowerCase();
  // Boundary: the text form of a module is never accepted, under its own name or under that of a module.
  if (name.endsWith('.wat') || name.endsWith('.wast')) {
    return 'it is WebAssembly in its text form, expected the binary form in a .wasm file';
  }
  if (name.endsWith('.wasm') && !WASM_MAGIC.equals(contents.subarray(0, WASM_MAGIC.length))) {
    return 'it is not a binary WebAssembly module, expected it to begin with the bytes 00 61 73 6d';
  }
  return null;
}
