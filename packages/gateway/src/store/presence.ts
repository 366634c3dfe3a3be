import { closeSync, existsSync, mkdirSync, openSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { storeErrorOf } from './fault-of.ts';

/*
 * Which palisade processes are alive. Each holds an exclusive lock on a small file of its own for as long as it lives;
 * the kernel lets go of it however the process ends, also across PID namespaces. Whoever can take the lock of another
 * knows that the other is dead.
 */

const FOLDER = 'instances';
const SUFFIX = '.lock';
/** A start should not pay for a thousand crashes of the past. */
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
      // Locked before it can be seen: nobody finds it free and takes us for gone.
      const unseen = `${this.#path(id)}.new`;
      closeSync(openSync(unseen, 'wx', 0o600));
      this.#lock = takeLock(unseen);
      renameSync(unseen, this.#path(id));
    } catch (error) {
      throw storeErrorOf(error, `write "${this.#folder}"`);
    }
  }

  /** True when that process is gone for sure; a doubt counts as alive. */
  isGone(id: string): boolean {
    if (id === this.id) return false;
    // SQLite would make a missing file anew and leave it behind.
    if (!existsSync(this.#path(id))) return true;
    try {
      takeLock(this.#path(id)).close();
      return true;
    } catch {
      return false;
    }
  }

  /** Forgets a process that is gone. */
  forget(id: string): void {
    try {
      unlinkSync(this.#path(id));
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
    }
  }

  /** Forgets processes that are gone, but for those whose open calls are still to be closed. */
  sweep(owners: ReadonlySet<string>): void {
    const ids = readdirSync(this.#folder).flatMap((name) =>
      name.endsWith(SUFFIX) ? [name.slice(0, -SUFFIX.length)] : [],
    );
    for (const id of ids.filter((one) => !owners.has(one)).slice(0, MOST_AT_ONCE)) {
      if (this.isGone(id)) this.forget(id);
    }
  }

  close(): void {
    this.#lock.close();
    this.forget(this.id);
  }

  #path(id: string): string {
    return join(this.#folder, `${id}${SUFFIX}`);
  }
}

function takeLock(path: string): Database.Database {
  const db = new Database(path);
  try {
    db.exec('PRAGMA busy_timeout = 0');
    // Nothing is ever written; a journal beside it would outlive a killed process.
    db.exec('PRAGMA journal_mode = OFF');
    // The lock is all we want of SQLite: no file beside this one.
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
