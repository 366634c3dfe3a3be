import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { digestBytes } from '../core/digest.ts';
import { storeErrorOf } from './fault-of.ts';

/*
 * Which palisade processes are alive. Each holds an exclusive lock on its own small file for as long as it lives; the
 * kernel releases it however the process ends, also across PID namespaces. A process that can take the lock of another
 * knows that the other is dead.
 */

const FOLDER = 'instances';
const SUFFIX = '.lock';
const UNSEEN_SUFFIX = `${SUFFIX}.new`;
/** A start takes far less; older ones were left by a crash. */
const UNSEEN_AT_MOST_MS = 60 * 60_000;
/** A start should not pay for a thousand past crashes. */
const MOST_AT_ONCE = 64;

export class Presence {
  readonly id: string;
  readonly #folder: string;
  readonly #lock: Database.Database;

  constructor(directory: string, id: string) {
    this.id = id;
    this.#folder = join(directory, FOLDER);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      // Locked before it is visible: no process finds it free and considers us gone.
      const unseen = join(this.#folder, `${id}${UNSEEN_SUFFIX}`);
      closeSync(openSync(unseen, 'wx', 0o600));
      this.#lock = takeLock(unseen);
      renameSync(unseen, this.#path(id));
    } catch (error) {
      throw storeErrorOf(error, `write "${this.#folder}"`);
    }
  }

  /** True when that process is certainly gone; in doubt it counts as alive. */
  isGone(id: string): boolean {
    if (id === this.id) return false;
    // SQLite would create a missing file again and leave it behind.
    return !existsSync(this.#path(id)) || isFree(this.#path(id));
  }

  forget(id: string): void {
    rmSync(this.#path(id), { force: true });
  }

  /** Forgets processes that are gone, except those whose open calls are still to be closed. */
  sweep(owners: ReadonlySet<string>): void {
    const names = readdirSync(this.#folder).sort();
    const ids = names
      .flatMap((name) => (name.endsWith(SUFFIX) ? [name.slice(0, -SUFFIX.length)] : []))
      .filter((id) => id !== this.id && !owners.has(id));
    for (const id of this.#some(ids)) if (this.isGone(id)) this.forget(id);
    this.#sweepUnseen(names.filter((name) => name.endsWith(UNSEEN_SUFFIX)));
  }

  /** Removes what processes left that died during their start. */
  #sweepUnseen(names: readonly string[]): void {
    const startedMs = madeAtMs(this.#path(this.id));
    if (startedMs === null) return;
    for (const path of this.#some(names).map((name) => join(this.#folder, name))) {
      const madeMs = madeAtMs(path);
      // Compared with our own file: both times come from the clock of the file system.
      if (madeMs !== null && startedMs - madeMs > UNSEEN_AT_MOST_MS && isFree(path))
        rmSync(path, { force: true });
    }
  }

  /** A bounded part, from a position that differs per process: live ones at the front never hide the rest forever. */
  #some(names: readonly string[]): string[] {
    const start = Number.parseInt(digestBytes(this.id).slice(0, 8), 16) % Math.max(names.length, 1);
    return [...names.slice(start), ...names.slice(0, start)].slice(0, MOST_AT_ONCE);
  }

  close(): void {
    this.#lock.close();
    this.forget(this.id);
  }

  #path(id: string): string {
    return join(this.#folder, `${id}${SUFFIX}`);
  }
}

/** A process that uses the state directory; its number where the kernel tells it. */
export type LiveProcess = { readonly id: string; readonly pid: number | null };

/** The processes that use a state directory now. */
export function liveProcesses(directory: string): readonly LiveProcess[] {
  const folder = join(directory, FOLDER);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  return names.flatMap((name) => {
    const path = join(folder, name);
    return isFree(path) ? [] : [{ id: name.slice(0, -SUFFIX.length), pid: holderOf(path) }];
  });
}

/** The process that has a lock on a file, for a message only: an inode of another file system may have that number too. */
function holderOf(path: string): number | null {
  try {
    const { ino } = statSync(path);
    const lines = readFileSync('/proc/locks', 'utf8').split('\n');
    const [, pid] =
      lines.map((line) => /POSIX .* (\d+) \S+:(\d+) /.exec(line)).find((m) => m?.[2] === String(ino)) ?? [];
    return pid === undefined ? null : Number(pid);
  } catch {
    return null;
  }
}

function madeAtMs(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null;
}

/*
 * An exclusive lock on a small file, held for as long as a process lives. The kernel releases it however the process
 * ends, also across PID namespaces.
 */

/** True when no process holds the lock of that file; in doubt it counts as held. */
function isFree(path: string): boolean {
  try {
    takeLock(path).close();
    return true;
  } catch {
    return false;
  }
}

/** Holds the lock until it is closed; throws where another process has it. */
export function takeLock(path: string): Database.Database {
  const db = new Database(path);
  try {
    db.exec('PRAGMA busy_timeout = 0');
    // Nothing is ever written; a journal beside it would outlive a killed process.
    db.exec('PRAGMA journal_mode = OFF');
    // Only the lock of SQLite is needed: no file beside this one.
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
