import { closeSync, fstatSync, lstatSync, mkdirSync, rmSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { type Digest, digestBytes } from '../core/digest.ts';
import { storeErrorOf } from '../store/fault-of.ts';
import { openItself, readAtMost } from '../store/private-file.ts';
import { namesIn, openUnfinished, writeWhole } from '../store/whole-file.ts';
import { PACKAGE_LIMITS } from './limits.ts';

/*
 * The packages of installed skills, each in a file that is named by the digest of its bytes. A file is complete or
 * absent: it is written under another name, flushed, and renamed. The state directory may have other writers, so a file
 * is judged by its descriptor and compared with its name to the byte at every read. What no version needs is swept away
 * later: a package is written before the index names it, and the index forgets it before it is removed.
 */

const MODE = 0o600;
const NAME = /^[0-9a-f]{64}$/;
const UNFINISHED = /^(?:[0-9a-f]{64}\.[0-9]+-[0-9]+|now\.[0-9]+-[0-9]+)\.new$/;

export class Artifacts {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Stores a package under its digest; durable when it returns, and leaves nothing behind when it throws. */
  write(bytes: Uint8Array, artifact: Digest): void {
    const path = this.#pathOf(artifact);
    if (digestBytes(bytes) !== artifact)
      throw new TypeError('Cannot keep package: its bytes have another digest');
    try {
      mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
      // Overwrites an existing one too: its time tells a sweep that it is about to be used.
      writeWhole(this.#dir, artifact, bytes, MODE);
    } catch (error) {
      throw storeErrorOf(error, `write "${path}"`);
    }
  }

  /** The exact bytes of that digest; throws `skill/changed` if the file is anything else. */
  read(artifact: Digest): Buffer {
    const fd = openToRead(this.#pathOf(artifact), artifact);
    try {
      const stats = fstatSync(fd);
      judge(stats, artifact);
      const bytes = readAtMost(fd, stats.size + 1);
      if (bytes.length !== stats.size) throw changed(artifact, 'it changed while it was read');
      // Boundary: what runs is what was approved, to the byte.
      if (digestBytes(bytes) !== artifact)
        throw changed(artifact, 'its bytes differ from those that were installed');
      return bytes;
    } finally {
      closeSync(fd);
    }
  }

  /** Changes with any change to the file; null if there is none. It says nothing about the file's content. */
  stampOf(artifact: Digest): string | null {
    const stats = lstatSync(this.#pathOf(artifact), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return null;
    const { ino, mtimeNs, ctimeNs, size, mode, uid } = stats;
    return `${ino}:${mtimeNs}:${ctimeNs}:${size}:${mode}:${uid}`;
  }

  /** Removes a package; a missing one counts as removed. */
  remove(artifact: Digest): void {
    const path = this.#pathOf(artifact);
    try {
      rmSync(path, { force: true });
    } catch (error) {
      throw storeErrorOf(error, `remove "${path}"`);
    }
  }

  /**
   * Removes what no version needs and what was never finished, once it is older than that many milliseconds: another
   * process may be about to need it. Returns the number of removed files.
   */
  sweep(inUse: ReadonlySet<Digest>, olderThanMs: number): number {
    try {
      const left = namesIn(this.#dir).filter(
        (name) => UNFINISHED.test(name) || (NAME.test(name) && !inUse.has(name as Digest)),
      );
      if (left.length === 0) return 0;
      const beforeMs = this.#nowMs() - olderThanMs;
      return left.filter((name) => removeIfOlder(join(this.#dir, name), beforeMs)).length;
    } catch (error) {
      throw storeErrorOf(error, `sweep "${this.#dir}"`);
    }
  }

  /** By the clock that gives the files their times, which need not be that of this machine. */
  #nowMs(): number {
    try {
      const { path, fd } = openUnfinished(join(this.#dir, 'now'), MODE);
      const { mtimeMs } = fstatSync(fd);
      closeSync(fd);
      rmSync(path, { force: true });
      return mtimeMs;
    } catch {
      // A full disk needs sweeping most.
      return statSync(this.#dir).mtimeMs;
    }
  }

  #pathOf(artifact: Digest): string {
    // Boundary: a name from the database is a digest, and never a path elsewhere.
    if (!NAME.test(artifact))
      throw new CodedError('store/corrupt', 'Cannot name a package: expected a digest');
    return join(this.#dir, artifact);
  }
}

function openToRead(path: string, artifact: Digest): number {
  try {
    return openItself(path);
  } catch (error) {
    const is = OTHER_FILES.get((error as { code?: string }).code ?? '');
    if (is !== undefined) throw changed(artifact, is);
    // It may be intact and only fail to open now. The caller of a tool learns that, but not the path.
    throw storeErrorOf(error, `read the package sha256:${artifact}`);
  }
}

/** Represents a package that cannot even be opened. */
const OTHER_FILES: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'it is missing, expected a file'],
  ['ENOTDIR', 'it is missing, expected a file'],
  ['ELOOP', 'it is a link, expected the file itself'],
  ['ENXIO', 'it is something else, expected a regular file'],
  ['EACCES', 'it cannot be read, expected the mode 0600'],
  ['EPERM', 'it cannot be read, expected the mode 0600'],
]);

/** Boundary: a file that another user owns, reads or writes is not the one that was stored here. */
function judge(stats: Stats, artifact: Digest): void {
  if (!stats.isFile()) throw changed(artifact, 'it is something else, expected a regular file');
  const user = process.geteuid?.() ?? stats.uid;
  if (stats.uid !== user)
    throw changed(artifact, `it belongs to the user ${stats.uid}, expected the user ${user}`);
  if ((stats.mode & 0o7777) !== MODE) {
    const mode = (stats.mode & 0o7777).toString(8).padStart(4, '0');
    throw changed(artifact, `its mode is ${mode}, expected 0600`);
  }
  const { packageBytes } = PACKAGE_LIMITS;
  if (stats.size > packageBytes)
    throw changed(artifact, `it has ${stats.size} bytes, expected at most ${packageBytes}`);
}

function removeIfOlder(path: string, beforeMs: number): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isDirectory() || stats.mtimeMs > beforeMs) return false;
  rmSync(path, { force: true });
  return true;
}

function changed(artifact: Digest, is: string): CodedError {
  return new CodedError('skill/changed', `Cannot use the package sha256:${artifact}: ${is}`);
}
