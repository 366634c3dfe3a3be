/**
 * Copies of the contents of files, in the folder of their workspace in the state directory. Small files are appended to
 * one file for each run; a large file is cloned, where the file system shares its blocks, and else copied up to a bound.
 * A file of a workspace is hostile: it is opened without following a link, never waits for a pipe, and is kept only if
 * its facts are those of the snapshot before it was read and after it.
 */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { HeldDirectory } from '../workspace/held-directory.ts';
import { type Entry, entryOf } from '../workspace/names.ts';
import type { Pointer } from './tree.ts';

/** Why a file was not copied. */
export type Miss = 'too large' | 'too many' | 'no time' | 'changed meanwhile' | 'unreadable';

/** Smaller ones are copied together; a clone of its own would cost more. */
const SMALL_BYTES = 128 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, COPYFILE_EXCL, COPYFILE_FICLONE_FORCE } =
  constants;

type CopiesOptions = {
  readonly folder: string;
  /** The id of the run; the names of its files begin with it. */
  readonly id: string;
  /** The largest file that is copied where it cannot be cloned. */
  readonly fileBytes: number;
  readonly nowMs: () => number;
};

/** The copies that one run adds. */
export class Copies {
  readonly #options: CopiesOptions;
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #filled = 0;
  #written = 0;
  #fd: number | null = null;
  #clones = 0;
  #canClone = true;

  constructor(options: CopiesOptions) {
    this.#options = options;
  }

  /** Copies the file that this entry tells of; its pointer is valid once `flush` was called. */
  take(held: HeldDirectory, name: Buffer, entry: Entry): Pointer | Miss {
    let fd: number;
    try {
      fd = openSync(held.pathOf(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch {
      return 'unreadable';
    }
    try {
      // Boundary: only the very file that the snapshot saw, as it was then.
      if (!isUnchanged(fd, entry)) return 'changed meanwhile';
      const pointer = this.#takeOpen(fd, entry);
      if (typeof pointer === 'string') return pointer;
      return isUnchanged(fd, entry) ? pointer : 'changed meanwhile';
    } finally {
      closeSync(fd);
    }
  }

  #takeOpen(fd: number, entry: Entry): Pointer | Miss {
    const { fileBytes } = this.#options;
    if (entry.size > SMALL_BYTES) {
      const cloned = this.#clone(fd);
      if (cloned !== null) return cloned;
    }
    if (entry.size > fileBytes) return 'too large';
    return this.#append(fd, entry.size);
  }

  #clone(fd: number): Pointer | null {
    if (!this.#canClone) return null;
    const { folder, id, nowMs } = this.#options;
    const file = `${id}.clone-${this.#clones}`;
    this.#clones += 1;
    try {
      copyFileSync(`/proc/self/fd/${fd}`, join(folder, file), COPYFILE_EXCL | COPYFILE_FICLONE_FORCE);
      // A clone has the mode of the original.
      chmodSync(join(folder, file), 0o600);
      return { file, offset: 0, sum: -1, copiedMs: nowMs() };
    } catch {
      this.#canClone = false;
      rmSync(join(folder, file), { force: true });
      return null;
    }
  }

  #append(fd: number, size: number): Pointer | Miss {
    const { id, nowMs } = this.#options;
    const offset = this.#written + this.#filled;
    let sum = 0;
    for (let left = size; left > 0; ) {
      if (this.#filled === CHUNK_BYTES) this.flush();
      const most = Math.min(left, CHUNK_BYTES - this.#filled);
      const count = readSync(fd, this.#chunk, this.#filled, most, null);
      if (count === 0) return 'changed meanwhile';
      sum = crc32(this.#chunk.subarray(this.#filled, this.#filled + count), sum);
      this.#filled += count;
      left -= count;
    }
    return { file: `${id}.copies`, offset, sum, copiedMs: nowMs() };
  }

  /** Writes what was read; before it, pointers lead to nothing. */
  flush(): void {
    const { folder, id } = this.#options;
    if (this.#filled === 0) return;
    this.#fd ??= openSync(join(folder, `${id}.copies`), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    for (let from = 0; from < this.#filled; )
      from += writeSync(this.#fd, this.#chunk, from, this.#filled - from, this.#written + from);
    this.#written += this.#filled;
    this.#filled = 0;
  }

  close(): void {
    this.flush();
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

function isUnchanged(fd: number, entry: Entry): boolean {
  const now = entryOf(entry.path, fstatSync(fd, { bigint: true }), null);
  return now.kind === 'file' && isSameState(now, entry);
}

/** Whether both tell of one file in one state: no program can reset the ctime. */
export function isSameState(a: Entry, b: Entry): boolean {
  return isSameButLinks(a, b) && a.ctimeNs === b.ctimeNs;
}

/** The same where a file has several names: to restore one of them changes the ctime of the others. */
export function isSameButLinks(a: Entry, b: Entry): boolean {
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.kind === b.kind &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.mode === b.mode &&
    a.target === b.target &&
    (a.ctimeNs === b.ctimeNs || a.nlink > 1)
  );
}

/** Whether the file of a name has the content that a pointer leads to. */
export function hasContent(
  { held, name }: { readonly held: HeldDirectory; readonly name: Buffer },
  folder: string,
  pointer: Pointer,
  size: number,
): boolean {
  const fd = openSync(held.pathOf(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const facts = fstatSync(fd);
    if (!facts.isFile() || facts.size !== size) return false;
    for (const part of contentAt(folder, pointer, size)) {
      const found = Buffer.allocUnsafe(part.length);
      if (readSync(fd, found, 0, part.length, null) < part.length || !found.equals(part)) return false;
    }
    return true;
  } finally {
    closeSync(fd);
  }
}

/** Gives the content that a pointer leads to, in parts; throws where it is not whole. */
export function* contentAt(folder: string, { file, offset, sum }: Pointer, size: number): Generator<Buffer> {
  // Boundary: the name is of this folder, whatever the record says.
  if (!/^[A-Za-z0-9_]{1,64}\.(?:copies|clone-[0-9]{1,9})$/.test(file))
    throw new TypeError('its copy has no valid name');
  if (size === 0) return;
  const fd = openSync(join(folder, file), O_RDONLY | O_NOFOLLOW);
  try {
    const chunk = Buffer.allocUnsafeSlow(Math.min(size, CHUNK_BYTES));
    let found = 0;
    for (let at = 0; at < size; ) {
      const count = readSync(fd, chunk, 0, Math.min(chunk.length, size - at), offset + at);
      if (count === 0) throw new TypeError('its copy was cut off');
      const part = chunk.subarray(0, count);
      if (sum >= 0) found = crc32(part, found);
      at += count;
      yield part;
    }
    // Boundary: what a power failure left of a copy does not become the content of a file.
    if (sum >= 0 && found !== sum) throw new TypeError('its copy was damaged');
  } finally {
    closeSync(fd);
  }
}
