import Database from 'libsql';

/*
 * An exclusive lock on a small file, held for as long as a process lives. The kernel lets go of it however the process
 * ends, also across PID namespaces.
 */

/** True when nobody holds the lock of that file; a doubt counts as held. */
export function isFree(path: string): boolean {
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
