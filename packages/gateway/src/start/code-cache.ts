import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { orElse } from '../core/result.ts';

/*
 * V8's code cache: what a pack was compiled to, so that the next start does not compile it. What is read here becomes code
 * of this process, so it is read as code is: only from a folder and a file that no one else can write, once, and the very
 * bytes whose digest was compared are used. A cache that is missing, damaged or doubtful costs time and nothing else.
 * Where this package was built the cache is beside it; else it is in the state directory, which no sandbox can see.
 */

/** A folder of caches, and the user besides this one whose files are trusted in it; null: none. */
export type CacheFolder = { readonly path: string; readonly alsoOf: number | null };

type Options = {
  /** What each pack is: a cache is of exactly these bytes. */
  readonly digestOf: (pack: string) => string;
  /** What V8 compares: its version and its flags. */
  readonly versionTag: number;
  /** Commands with the same name run much the same functions. */
  readonly profile: string;
  readonly folders: readonly CacheFolder[];
  /** Where a new one is written; null: nowhere. */
  readonly writeTo: string | null;
};

const MAGIC = 'palisade code 1 ';
/** The digest and the line feed after it; V8 takes the data without a copy where it is aligned. */
const HEADER_BYTES = 88;
const MAX_BYTES = 64 * 1024 * 1024;
const WRITABLE_BY_OTHERS = 0o022;
/** Four packs of five profiles for two versions of Node, and some. */
const MAX_FILES = 48;

export class CodeCache {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The cached code of a pack; null where there is none that can be trusted. */
  read(pack: string): Buffer | null {
    const name = this.#nameOf(pack);
    for (const folder of this.#options.folders) {
      const found = readTrusted(folder, name);
      const data = found === null ? null : this.#dataOf(pack, found);
      if (data !== null) return data;
    }
    return null;
  }

  /** Keeps the code of a pack; where it cannot be written, the next start compiles again. */
  write(pack: string, data: Buffer): void {
    const folder = this.#options.writeTo;
    if (folder === null) return;
    const path = join(folder, this.#nameOf(pack));
    const fresh = `${path}.${process.pid}.new`;
    try {
      // Not what is above it: no state directory is made for a cache.
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      if (!isOurs(lstatSync(folder), null)) return;
      writeFileSync(fresh, Buffer.concat([this.#headerOf(pack, data), data]), { mode: 0o600, flag: 'wx' });
      renameSync(fresh, path);
      removeOld(folder);
    } catch {
      orElse(() => rmSync(fresh, { force: true }), null);
    }
  }

  #nameOf(pack: string): string {
    const { digestOf, versionTag, profile } = this.#options;
    return `${pack}-${profile}-${digestOf(pack).slice(0, 16)}-${process.arch}-${versionTag.toString(16)}.v8`;
  }

  /** Boundary: damaged code can do anything. The digest covers the text that it was compiled from, too. */
  #dataOf(pack: string, found: Buffer): Buffer | null {
    const data = found.subarray(HEADER_BYTES);
    return this.#headerOf(pack, data).equals(found.subarray(0, HEADER_BYTES)) ? data : null;
  }

  #headerOf(pack: string, data: Buffer): Buffer {
    const hash = createHash('sha256').update(`${this.#nameOf(pack)}\n${this.#options.digestOf(pack)}\n`);
    return Buffer.from(`${MAGIC}${hash.update(data).digest('hex')}`.padEnd(HEADER_BYTES - 1).concat('\n'));
  }
}

/** All bytes of a file that only its owner can write, in such a folder; null for any other. */
function readTrusted({ path, alsoOf }: CacheFolder, name: string): Buffer | null {
  let fd: number;
  try {
    // Boundary: in a folder that others can write, the name can lead to another file of ours.
    if (!isOurs(lstatSync(path), alsoOf)) return null;
    // Boundary: a link is not followed, and a pipe does not block.
    fd = openSync(join(path, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const stats = fstatSync(fd);
    const isFit = stats.isFile() && isOurs(stats, alsoOf) && stats.size > HEADER_BYTES;
    return isFit && stats.size <= MAX_BYTES ? readWhole(fd, stats.size) : null;
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

function isOurs({ uid, mode }: Stats, alsoOf: number | null): boolean {
  const isTrusted = uid === (process.geteuid?.() ?? uid) || uid === alsoOf;
  return isTrusted && (mode & WRITABLE_BY_OTHERS) === 0;
}

/** Boundary: read once; the file can change afterwards, these bytes cannot. */
function readWhole(fd: number, size: number): Buffer | null {
  const bytes = Buffer.allocUnsafeSlow(size);
  let length = 0;
  for (let count = 1; count > 0 && length < size; length += count)
    count = readSync(fd, bytes, length, size - length, null);
  return length === size ? bytes : null;
}

/** Caches of versions that are gone; the newest stay. */
function removeOld(folder: string): void {
  const files = readdirSync(folder).map((name) => {
    const path = join(folder, name);
    return { path, atMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 };
  });
  files.sort((a, b) => b.atMs - a.atMs);
  for (const { path } of files.slice(MAX_FILES)) rmSync(path, { force: true });
}
