import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/* Files that exist whole or not at all, whenever a process ends. */

/** The suffix of a file that is still being written. */
export const UNFINISHED = '.new';

/** Written under a unique temporary name, flushed, then renamed. */
export function writeWhole(
  directory: string,
  name: string,
  contents: string | Uint8Array,
  mode: number,
): void {
  const { path, fd } = openUnfinished(join(directory, name), mode);
  try {
    writeFileSync(fd, contents);
    // Whatever the umask of this process took away.
    fchmodSync(fd, mode);
    fsyncSync(fd);
    renameSync(path, join(directory, name));
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  flushFolder(directory);
}

export function moveOver(directory: string, from: string, to: string): void {
  renameSync(join(directory, from), join(directory, to));
  flushFolder(directory);
}

export function removeFiles(directory: string, names: readonly string[]): void {
  for (const name of names) rmSync(join(directory, name), { force: true });
  flushFolder(directory);
}

/** The names in the directory; none where it does not exist. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return [];
    throw error;
  }
}

export function openUnfinished(path: string, mode: number): { readonly path: string; readonly fd: number } {
  for (let attempt = 0; ; attempt++) {
    const unfinished = `${path}.${process.pid}-${attempt}${UNFINISHED}`;
    try {
      return { path: unfinished, fd: openSync(unfinished, 'wx', mode) };
    } catch (error) {
      // Another writer is using that name, or a crash left it.
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
    }
  }
}

/** Makes the names in a directory durable. */
export function flushFolder(directory: string): void {
  const folder = openSync(directory, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
