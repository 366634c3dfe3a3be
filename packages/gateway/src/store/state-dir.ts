import { closeSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { storeErrorOf } from './fault-of.ts';

/** Creates the state directory for its owner alone, or refuses one that others can enter. */
export function prepareStateDir(path: string): void {
  try {
    makeDirectories(path);
    const status = lstatSync(path);
    const { mode, uid } = status;
    // Boundary: a link can be redirected after the check.
    if (status.isSymbolicLink()) {
      const remedy = 'Give the directory that the link leads to with --state.';
      throw unfit(path, 'it is a symbolic link, expected a directory', remedy);
    }
    const owner = process.getuid?.() ?? uid;
    if (uid !== owner) throw unfit(path, `it belongs to uid ${uid}, expected ${owner}`);
    // Boundary: keys, policies and the journal are here; a directory that others can enter protects none of them.
    if ((mode & 0o077) !== 0) {
      const remedy = `Run \`chmod 700 ${path}\`, or choose another directory with --state.`;
      throw unfit(path, `its mode is ${(mode & 0o777).toString(8)}, expected 700`, remedy);
    }
  } catch (error) {
    throw storeErrorOf(error, `use the state directory "${path}"`);
  }
}

function unfit(path: string, is: string, remedy?: string): CodedError {
  const message = `Cannot use the state directory "${path}": ${is}`;
  return new CodedError('store/unwritable', message, { remedy });
}

/** Like a recursive mkdir, which never returns below some paths that permit no directory (such as /proc). */
function makeDirectories(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    makeDirectories(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/** Makes sure that only its owner can read the database file before SQLite writes to it (its WAL inherits the mode). */
export function prepareDatabaseFile(directory: string, name: string): string {
  const path = join(directory, name);
  try {
    // Boundary: an existing file is not opened here. To close a file ends every POSIX lock that the process has on it;
    // without those of a store that is open already, another process would remove the log that it writes to.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw storeErrorOf(error, `open "${path}"`);
  }
  return path;
}
