import { closeSync, existsSync, mkdirSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { storeErrorOf } from './fault-of.ts';

/*
 * Which palisade processes are alive. Each holds an exclusive lock on a small file of its own for as long as it lives;
 * the kernel lets go of it however the process ends, also across PID namespaces. Whoever can take the lock of another
 * knows that the other is dead.
 */

const FOLDER = 'instances';

export class Presence {
  readonly id: string;
  readonly #folder: string;
  readonly #lock: Database.Database;

  constructor(directory: string, id: string) {
    this.id = id;
    this.#folder = join(directory, FOLDER);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      closeSync(openSync(this.#path(id), 'wx', 0o600));
      this.#lock = takeLock(this.#path(id));
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

  close(): void {
    this.#lock.close();
    this.forget(this.id);
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.lock`);
  }
}

function takeLock(path: string): Database.Database {
  const db = new Database(path);
  try {
    db.exec('PRAGMA busy_timeout = 0');
    db.exec('PRAGMA locking_mode = EXCLUSIVE');
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
