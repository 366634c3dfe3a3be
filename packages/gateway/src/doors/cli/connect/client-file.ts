import { isUtf8 } from 'node:buffer';
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, sep } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { positionOfBadUtf8 } from '../../../core/text-position.ts';

/*
 * The file of a client on the disk. It is the user's: it is read whole or not at all, written whole or not at all, and what
 * it was is kept beside it. A link is followed, and stays a link. Nothing here knows what is in the file.
 */

/** Larger than any that a client writes; some keep their history there. */
const MAX_BYTES = 16 * 1024 * 1024;
const BOM = '\ufeff';
const PRIVATE = 0o600;
const SHARED = 0o644;

export type ClientFile = {
  /** As the user knows it. */
  readonly path: string;
  /** Where the bytes are: the end of a link, else the same. */
  readonly target: string;
  /** Without a byte order mark; null: there is no file yet. */
  readonly text: string | null;
  readonly hasBom: boolean;
  readonly mode: number;
  /** Null: whoever writes it. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
};

/** Reads a file that need not be there. With `within`, one that a link leads out of that folder is refused. */
export function readClientFile(path: string, within: string | null): ClientFile {
  try {
    const target = targetOf(path);
    if (within !== null) demandWithin(path, target, within);
    if (!existsSync(target)) return absent(path, target, within === null ? PRIVATE : SHARED);
    // Boundary: a pipe in the place of the file would hold the command for ever.
    const fd = openSync(target, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile()) throw refuse(path, 'it is no regular file', 'one');
      if (stat.size > MAX_BYTES) throw refuse(path, `it has ${stat.size} bytes`, `at most ${MAX_BYTES}`);
      const text = textOf(readFileSync(fd), path);
      const hasBom = text.startsWith(BOM);
      const { mode, uid, gid } = stat;
      return {
        path,
        target,
        text: hasBom ? text.slice(1) : text,
        hasBom,
        mode: mode & 0o777,
        owner: { uid, gid },
      };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw refusalOf(error, path, 'read');
  }
}

/** Puts a text in the place of the one that was read; `mode` is that of the new file. */
export function writeClientFile(file: ClientFile, text: string, mode: number): void {
  const { path, target, hasBom, owner } = file;
  try {
    mkdirSync(dirname(target), { recursive: true, mode: mode === PRIVATE ? 0o700 : 0o755 });
    demandWritable(file);
    const fresh = `${target}.palisade-${process.pid}`;
    try {
      // Boundary: `wx` follows no link that somebody put there, and no other user reads a token before the mode is right.
      const fd = openSync(fresh, 'wx', PRIVATE);
      try {
        writeFileSync(fd, `${hasBom ? BOM : ''}${text}`);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      keepOwner(fresh, owner);
      chmodSync(fresh, mode);
      demandUnchanged(file);
      renameSync(fresh, target);
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') rmSync(fresh, { force: true });
      throw error;
    }
  } catch (error) {
    throw refusalOf(error, path, 'write');
  }
}

/** Takes a file away that holds nothing but what was put there by us. */
export function removeClientFile(file: ClientFile): void {
  try {
    demandWritable(file);
    demandUnchanged(file);
    rmSync(file.path);
  } catch (error) {
    throw refusalOf(error, file.path, 'remove');
  }
}

/** Finds out before anything is done whether the file can be written at all. */
export function demandWritable({ path, target, text, mode }: ClientFile): void {
  if (text === null) return;
  // The owner has said that it stays as it is, though the folder would let us replace it.
  if ((mode & 0o222) === 0) throw refuse(path, 'it is read-only', 'a file that may be written');
  try {
    accessSync(target, constants.W_OK);
    accessSync(dirname(target), constants.W_OK);
  } catch (error) {
    throw refusalOf(error, path, 'write');
  }
}

/** Whether the path is a link to the file. */
export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function targetOf(path: string): string {
  if (!isLink(path)) return existsSync(path) ? realpathSync(path) : path;
  try {
    return realpathSync(path);
  } catch {
    throw refuse(path, 'it is a link that leads nowhere', 'a file or a link to one');
  }
}

function demandWithin(path: string, target: string, within: string): void {
  let folder = dirname(target);
  while (!existsSync(folder)) folder = dirname(folder);
  const root = realpathSync(within);
  const inside = [realpathSync(folder), ...(existsSync(target) ? [target] : [])];
  // Boundary: a project that somebody else wrote does not choose, by a link in it, which file of the user is changed.
  if (inside.every((each) => each === root || each.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)))
    return;
  throw refuse(path, 'a link leads out of the project', 'a file in it');
}

/** Boundary: what another program wrote since is not lost. */
function demandUnchanged({ path, target, text, hasBom }: ClientFile): void {
  const now = existsSync(target) ? readFileSync(target, 'utf8') : null;
  const before = text === null ? null : `${hasBom ? BOM : ''}${text}`;
  if (now !== before)
    throw refuse(path, 'another program has changed it meanwhile', 'it as it was; run it again');
}

function keepOwner(fresh: string, owner: ClientFile['owner']): void {
  const { uid, gid } = lstatSync(fresh);
  if (owner === null || (owner.uid === uid && owner.gid === gid)) return;
  chownSync(fresh, owner.uid, owner.gid);
}

function textOf(bytes: Buffer, path: string): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const { line, column } = positionOfBadUtf8(bytes);
  throw refuse(`${path}:${line}:${column}`, 'it has other bytes', 'UTF-8');
}

function absent(path: string, target: string, mode: number): ClientFile {
  return { path, target, text: null, hasBom: false, mode, owner: null };
}

function refuse(path: string, is: string, expected: string): CodedError {
  return new CodedError('door/wrong-usage', `Cannot use "${path}": ${is}, expected ${expected}`, {
    remedy: 'Nothing was changed; correct that, or name another file with --file.',
  });
}

function refusalOf(error: unknown, path: string, act: string): unknown {
  const { code } = error as { code?: unknown };
  if (error instanceof CodedError || typeof code !== 'string') return error;
  return new CodedError(
    'door/wrong-usage',
    `Cannot ${act} "${path}": ${code}, expected a file that this user may ${act}`,
    {
      remedy: 'Nothing was changed; correct that, or name another file with --file.',
    },
  );
}
