import { isUtf8 } from 'node:buffer';
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { positionOfBadUtf8 } from '../../../core/text-position.ts';
import { wrongUsage } from '../input.ts';

/*
 * The file of a client on the disk. It is the user's: it is read whole or not at all, replaced in one step or not at all,
 * and what it was before is kept beside it. A link is followed, and stays a link. Nothing here knows what is in the file.
 */

/** Larger than any file that a client writes; some keep their history there. */
const MAX_BYTES = 16 * 1024 * 1024;
const BOM = '\ufeff';
/** For the owner alone. */
export const PRIVATE = 0o600;
const SHARED = 0o644;
const BACKUP_MARK = '.palisade-backup-';
/** At most this many backups are compared, the newest first. */
const MAX_BACKUPS = 32;
const UNTOUCHED = 'Nothing was changed. Correct that, or name another file with --file.';

export type ClientFile = {
  /** As the user knows it. */
  readonly path: string;
  /** Where the bytes are: the end of a link, else the same. */
  readonly target: string;
  /** Without a byte order mark; null: the file does not exist yet. */
  readonly text: string | null;
  readonly hasBom: boolean;
  readonly mode: number;
  /** Null: the user who writes it. */
  readonly owner: { readonly uid: number; readonly gid: number } | null;
};

/** Reads a file that need not exist. With `within`, a link that leads out of that folder is refused. */
export function readClientFile(path: string, within: string | null): ClientFile {
  try {
    const target = targetOf(path);
    if (within !== null) demandWithin(path, target, within);
    const mode = within === null ? PRIVATE : SHARED;
    if (!existsSync(target)) return { path, target, text: null, hasBom: false, mode, owner: null };
    // Boundary: a pipe at the path would block the command forever.
    const fd = openSync(target, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile()) throw refuse(path, 'it is not a regular file', 'one');
      if (stat.size > MAX_BYTES) throw refuse(path, `it has ${stat.size} bytes`, `at most ${MAX_BYTES}`);
      const bytes = readFileSync(fd);
      if (!isUtf8(bytes)) {
        const { line, column } = positionOfBadUtf8(bytes);
        throw refuse(`${path}:${line}:${column}`, 'it has bytes that are not UTF-8', 'UTF-8');
      }
      const text = bytes.toString('utf8');
      const hasBom = text.startsWith(BOM);
      const owner = { uid: stat.uid, gid: stat.gid };
      return { path, target, text: hasBom ? text.slice(1) : text, hasBom, mode: stat.mode & 0o777, owner };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw refusalOf(error, path, 'read');
  }
}

/** Replaces the text that was read; `mode` is that of the new file. */
export function writeClientFile(file: ClientFile, text: string, mode: number): void {
  const { path, target, hasBom, owner } = file;
  try {
    mkdirSync(dirname(target), { recursive: true, mode: mode === PRIVATE ? 0o700 : 0o755 });
    demandWritable(file);
    const fresh = `${target}.palisade-${process.pid}`;
    try {
      // Boundary: `wx` follows no link that another user put there, and no one else reads a token before the mode is right.
      writeFileSync(fresh, `${hasBom ? BOM : ''}${text}`, { flag: 'wx', mode: PRIVATE, flush: true });
      const { uid, gid } = lstatSync(fresh);
      if (owner !== null && (owner.uid !== uid || owner.gid !== gid)) chownSync(fresh, owner.uid, owner.gid);
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

/** Removes a file that holds nothing but our entry. */
export function removeClientFile(file: ClientFile): void {
  try {
    demandWritable(file);
    demandUnchanged(file);
    rmSync(file.path);
  } catch (error) {
    throw refusalOf(error, file.path, 'remove');
  }
}

/** Refuses a file that cannot be written, before anything is done. */
export function demandWritable({ path, target, text, mode }: ClientFile): void {
  if (text === null) return;
  // The owner has made it read-only, though the folder would let us replace it.
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
    throw refuse(path, 'it is a link to a file that does not exist', 'a file or a link to one');
  }
}

function demandWithin(path: string, target: string, within: string): void {
  let folder = dirname(target);
  while (!existsSync(folder)) folder = dirname(folder);
  const root = realpathSync(within);
  const inside = [realpathSync(folder), ...(existsSync(target) ? [target] : [])];
  // Boundary: a project of another author does not choose, by a link in it, which file of the user is changed.
  if (inside.every((each) => each === root || each.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)))
    return;
  throw refuse(path, 'a link leads out of the project', 'a file in it');
}

/** Boundary: what another program wrote since then is not lost. */
function demandUnchanged({ path, target, text, hasBom }: ClientFile): void {
  const now = existsSync(target) ? readFileSync(target, 'utf8') : null;
  const before = text === null ? null : `${hasBom ? BOM : ''}${text}`;
  const is = 'another program has changed it meanwhile';
  if (now !== before) throw refuse(path, is, 'an unchanged file; run the command again');
}

function refuse(path: string, is: string, expected: string): CodedError {
  return wrongUsage(`Cannot use "${path}": ${is}, expected ${expected}`, UNTOUCHED);
}

function refusalOf(error: unknown, path: string, act: string): unknown {
  const { code } = error as { code?: unknown };
  if (error instanceof CodedError || typeof code !== 'string') return error;
  return wrongUsage(`Cannot ${act} "${path}": ${code}, expected a file that this user may ${act}`, UNTOUCHED);
}

/** The texts of the backups of a file, the newest first. */
export function earlierTexts(file: ClientFile): readonly string[] {
  return backupsOf(file).map(({ text }) => text.replace(BOM, ''));
}

/** Keeps the file as it is now; gives the path of the backup, which may be an older one with the same text. */
export function keepBackup(file: ClientFile, nowMs: number): string | null {
  if (file.text === null) return null;
  const text = `${file.hasBom ? BOM : ''}${file.text}`;
  const known = backupsOf(file).find((each) => each.text === text);
  if (known !== undefined) return known.path;
  const stamp = isoTime(nowMs).replace(/[-:.]/g, '');
  for (let i = 1; i <= MAX_BACKUPS; i++) {
    const path = `${file.path}${BACKUP_MARK}${stamp}${i === 1 ? '' : `-${i}`}`;
    try {
      // Boundary: `wx` overwrites nothing; the file may hold tokens of other servers, so it is for its owner alone.
      writeFileSync(path, text, { flag: 'wx', mode: PRIVATE });
      return path;
    } catch (error) {
      if ((error as { code?: string }).code !== 'EEXIST') throw refusalOf(error, path, 'write');
    }
  }
  throw refuse(file.path, `it has ${MAX_BACKUPS} backups of this moment`, 'a free name for one more');
}

function backupsOf({ path }: ClientFile): readonly { readonly path: string; readonly text: string }[] {
  const folder = dirname(path);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.startsWith(`${basename(path)}${BACKUP_MARK}`));
  return names
    .sort()
    .reverse()
    .slice(0, MAX_BACKUPS)
    .map((name) => join(folder, name))
    .filter((each) => {
      const stat = statSync(each, { throwIfNoEntry: false });
      return stat?.isFile() === true && stat.size <= MAX_BYTES;
    })
    .map((each) => ({ path: each, text: readFileSync(each, 'utf8') }));
}
