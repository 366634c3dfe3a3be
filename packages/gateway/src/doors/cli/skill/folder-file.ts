import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { PACKAGE_LIMITS } from '../../../skills/limits.ts';
import { pathProblem } from '../../../skills/package/paths.ts';

/* Files in the folder of a skill, which may be a stranger's: no link is followed, and nothing is read without an end. */

/** The bytes of a regular file below a folder; null where nothing has that name. Anything else is refused. */
export function readFolderFile(folder: string, path: string): Uint8Array | null {
  // Boundary: a manifest names files of its own folder, so a path that leads out of it is that of no file.
  if (pathProblem(path) !== null) return null;
  const kind = kindAt(folder, path);
  if (kind === null) return null;
  if (kind !== 'a file') throw unfit(path, `it is ${kind}, expected a file`);
  return readRegular(join(folder, path), path);
}

/** The bytes of a regular file of at most the size of an entry; nothing on the last part of its path is followed. */
export function readRegular(path: string, name: string): Uint8Array {
  const fd = openRegular(path, name);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw unfit(name, 'it is something else, expected a file');
    const most = PACKAGE_LIMITS.entryBytes;
    if (stats.size > most) throw unfit(name, `it has ${stats.size} bytes, expected at most ${most}`);
    return readUpTo(fd, stats.size);
  } finally {
    closeSync(fd);
  }
}

function openRegular(path: string, name: string): number {
  try {
    // Boundary: a link or a pipe that has taken its place is neither followed nor waited for.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw unfit(name, `it gives ${(error as { code?: string }).code}, expected a file that can be read`);
  }
}

type Kind = 'a file' | 'a folder' | 'a link' | 'something else';

/** What lies at a path; a link anywhere on the way is a link. */
function kindAt(folder: string, path: string): Kind | null {
  const parts = path.split('/');
  let kind: Kind = 'a folder';
  for (const [at] of parts.entries()) {
    if (kind !== 'a folder') return null;
    const stats = lstatSync(join(folder, ...parts.slice(0, at + 1)), { throwIfNoEntry: false });
    if (stats === undefined) return null;
    if (stats.isSymbolicLink()) return 'a link';
    kind = stats.isFile() ? 'a file' : stats.isDirectory() ? 'a folder' : 'something else';
  }
  return kind;
}

function readUpTo(fd: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let length = 0;
  for (let count = 1; count > 0 && length < size; length += count) {
    count = readSync(fd, bytes, length, size - length, null);
  }
  return bytes.subarray(0, length);
}

/** A file that cannot be part of a package. */
export function unfit(path: string, what: string): CodedError {
  return new CodedError('skill/invalid-package', `Cannot use "${path}": ${what}`, {
    remedy: 'Change the file or take it out of the folder.',
  });
}
