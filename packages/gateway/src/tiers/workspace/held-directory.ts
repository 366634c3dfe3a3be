import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  type Dir,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  statfsSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { CodedError } from '../../core/coded-error.ts';
import { orElse } from '../../core/result.ts';

/** What a restored file gets. */
type FileOwner = { readonly mode: number; readonly uid: number; readonly gid: number };

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** Names a file without opening it; Node has no constant for it. */
const O_PATH = 0o10000000;
const SLASH = Buffer.from('/');

/**
 * A directory that is held open, and the only way in which this folder accesses a workspace: one name at a time,
 * relative to the open directory and not to its path. Swapping an ancestor for a link therefore has no effect. (Outside
 * Linux a directory cannot be named by its descriptor; there its path is used, and callers compare what they opened
 * with what they had seen.)
 */
export class HeldDirectory {
  readonly fd: number;
  readonly #at: Buffer;

  private constructor(path: Buffer) {
    // Boundary: the last component must be a directory and not a link, or nothing is opened.
    this.fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
    this.#at = process.platform === 'linux' ? Buffer.from(`/proc/self/fd/${this.fd}`) : path;
  }

  /** Opens the workspace; refuses when its path resolves to anything but itself. */
  static open(workspace: string): HeldDirectory {
    let held: HeldDirectory | undefined;
    try {
      held = new HeldDirectory(Buffer.from(workspace));
      // Boundary: an ancestor that was replaced by a link since the workspace was made canonical.
      const real = process.platform === 'linux' ? readlinkSync(`/proc/self/fd/${held.fd}`) : workspace;
      if (real === workspace) return held;
      throw new Error(`it leads to "${real}"`);
    } catch (error) {
      held?.close();
      const what = error instanceof Error ? error.message : String(error);
      throw new CodedError(
        'tier/unenforceable',
        `Cannot look at the workspace "${workspace}": ${what}, expected a directory that is reached without links`,
        { cause: error },
      );
    }
  }

  /** Opens the directory of a descriptor again, wherever its path leads by now and whether or not it was closed. */
  static of(fd: number): HeldDirectory {
    const path = Buffer.from(`/proc/self/fd/${fd}/.`);
    try {
      return new HeldDirectory(path);
    } catch (error) {
      if ((error as { code?: string }).code !== 'EACCES') throw error;
      fchmodSync(fd, Number(fstatSync(fd).mode & 0o7777) | 0o700);
      return new HeldDirectory(path);
    }
  }

  /** Opens a directory in this one; never through a link. */
  child(name: Buffer): HeldDirectory {
    return new HeldDirectory(this.pathOf(name));
  }

  parent(): HeldDirectory {
    return new HeldDirectory(this.pathOf(Buffer.from('..')));
  }

  stat(): BigIntStats {
    return fstatSync(this.fd, { bigint: true });
  }

  /** The lstat of a name, not following links; undefined when it does not exist. */
  lstat(name: Buffer): BigIntStats | undefined {
    return lstatSync(this.pathOf(name), { bigint: true, throwIfNoEntry: false });
  }

  readlink(name: Buffer): Buffer {
    return readlinkSync(this.pathOf(name), 'buffer');
  }

  /** The bytes of a regular file; null where it is something else, larger than this, or refused. */
  readFile(name: Buffer, maxBytes: number): Buffer | null {
    const fd = orElse(() => openSync(this.pathOf(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK), null);
    if (fd === null) return null;
    try {
      const facts = fstatSync(fd);
      if (!facts.isFile() || facts.size > maxBytes) return null;
      const bytes = Buffer.alloc(facts.size + 1);
      const length = readSync(fd, bytes, 0, bytes.length, 0);
      return length > facts.size ? null : bytes.subarray(0, length);
    } finally {
      closeSync(fd);
    }
  }

  /** Makes a file where there is none. */
  createFile(name: Buffer, bytes: Uint8Array, { mode, uid, gid }: FileOwner): void {
    const fd = openSync(this.pathOf(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      writeFileSync(fd, bytes);
      if (process.getuid?.() === 0) fchownSync(fd, uid, gid);
      fchmodSync(fd, mode & 0o777);
    } finally {
      closeSync(fd);
    }
  }

  createLink(name: Buffer, target: Buffer): void {
    symlinkSync(target, this.pathOf(name));
  }

  remove(name: Buffer): void {
    unlinkSync(this.pathOf(name));
  }

  /** Whether a write always changes the times of a file: in memory (tmpfs, ramfs) one through a mapping does not. */
  hasTimes(): boolean {
    return ![0x01021994, 0x858458f6].includes(statfsSync(this.#at).type);
  }

  /** Lets the owner of this directory read and change it. */
  unlock(): void {
    fchmodSync(this.fd, Number(this.stat().mode & 0o7777n) | 0o700);
  }

  /** The same for a directory in this one that cannot be opened. */
  unlockChild(name: Buffer): void {
    const fd = openSync(this.pathOf(name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    try {
      chmodSync(`/proc/self/fd/${fd}`, Number(fstatSync(fd).mode & 0o7777) | 0o700);
    } finally {
      closeSync(fd);
    }
  }

  /** The names, a batch at a time, so that a directory of millions does not fill the memory. */
  list(): Dir {
    return opendirSync(this.#at, { encoding: 'buffer' as BufferEncoding, bufferSize: 1024 });
  }

  close(): void {
    closeSync(this.fd);
  }

  /** The path of a name in this directory, for calls that do not follow a link at its end. */
  pathOf(name: Buffer): Buffer {
    return Buffer.concat([this.#at, SLASH, name]);
  }
}

/** Whether both are one file. */
export function isSameFile(a: { dev: bigint; ino: bigint }, b: { dev: bigint; ino: bigint }): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** The workspace of a run, held open from its check to its end: changes of its path in the meantime have no effect. */
export type HeldWorkspace = {
  readonly fd: number;
  /** Distinguishes it from every other directory that exists at the same time. */
  readonly identity: string;
  /** When it was made; empty where the file system does not tell. */
  readonly born: string;
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly isInPlace: () => boolean;
  readonly close: () => void;
};

/** Opens exactly the directory that was checked, or refuses; `path` is canonical. */
export function holdWorkspace(path: string): HeldWorkspace {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    throw gone(path, `fails with ${error instanceof Error && 'code' in error ? error.code : 'an error'}`);
  }
  try {
    // Boundary: a link that replaced a directory on the path leads elsewhere, which this reveals.
    const reached = readlinkSync(`/proc/self/fd/${fd}`);
    if (reached !== path) throw gone(path, 'leads to another directory');
    const { uid, gid, dev, ino, birthtimeNs, ctimeNs } = fstatSync(fd, { bigint: true });
    const isInPlace = () => {
      const now = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      return now?.dev === dev && now.ino === ino;
    };
    return {
      fd,
      identity: `${dev}:${ino}`,
      // Where the kernel does not tell, Node gives the time of the last change.
      born: birthtimeNs === ctimeNs ? '' : `${birthtimeNs}`,
      owner: { uid: Number(uid), gid: Number(gid) },
      isInPlace,
      close: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The same for a directory that a run may have closed to its owner since then: that one is opened again. */
export function holdAgain(
  path: string,
  { identity, sinceNs }: { readonly identity: string; readonly sinceNs: bigint },
): HeldWorkspace {
  const fd = openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  try {
    const { dev, ino, mode, ctimeNs } = fstatSync(fd, { bigint: true });
    const isClosed = (mode & 0o700n) !== 0o700n;
    if (isClosed && identity === `${dev}:${ino}` && ctimeNs >= sinceNs)
      chmodSync(`/proc/self/fd/${fd}`, Number(mode & 0o7777n) | 0o700);
  } finally {
    closeSync(fd);
  }
  return holdWorkspace(path);
}

function gone(path: string, what: string): CodedError {
  const message = `Cannot open the workspace: "${path}" ${what}, expected the directory that was authorised`;
  return new CodedError('runner/invalid-workspace', message);
}
