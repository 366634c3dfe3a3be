import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { isOutOfFiles, storeErrorOf } from './fault-of.ts';

/* A file that only its owner can read. It is opened once and checked by its descriptor, so what is read was checked. */

export class UnfitFile extends TypeError {
  override readonly name = 'UnfitFile';
}

const OTHERS = 0o077;

/** All bytes of a private file, or null where it does not exist; throws UnfitFile for any other. */
export function readPrivateFile(path: string, maxBytes: number): Buffer | null {
  const fd = open(path);
  if (fd === null) return null;
  try {
    judge(fstatSync(fd));
    const bytes = readAtMost(fd, maxBytes + 1);
    if (bytes.length > maxBytes) throw new UnfitFile(`it is too large, expected at most ${maxBytes} bytes`);
    return bytes;
  } finally {
    closeSync(fd);
  }
}

/** Boundary: at most this many bytes are read, however the file grows. */
export function readAtMost(fd: number, maxBytes: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(maxBytes);
  let length = 0;
  for (let count = 1; count > 0 && length < buffer.length; length += count) {
    count = readSync(fd, buffer, length, buffer.length - length, null);
  }
  return buffer.subarray(0, length);
}

/** Boundary: a link is not followed, a pipe does not block, and a terminal does not become our controlling one. */
export function openItself(path: string): number {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  return openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
}

function open(path: string): number | null {
  try {
    return openItself(path);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') throw new UnfitFile('it is a link, expected the file itself');
    // It may be fine, and only cannot be opened now.
    if (isOutOfFiles(error)) throw storeErrorOf(error, `read "${path}"`);
    throw new UnfitFile(`it gives ${code}, expected a file that can be read`);
  }
}

/** Boundary: a file that others own, read or write does not keep a secret. */
function judge(stats: Stats): void {
  if (!stats.isFile()) throw new UnfitFile('it is something else, expected a regular file');
  const user = process.geteuid?.() ?? stats.uid;
  if (stats.uid !== user && stats.uid !== 0) {
    throw new UnfitFile(`it belongs to the user ${stats.uid}, expected one of the user ${user} or of root`);
  }
  if ((stats.mode & OTHERS) === 0) return;
  const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
  throw new UnfitFile(`its mode is ${mode}, expected 0600 or less`);
}
