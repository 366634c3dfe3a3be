import { createHash } from 'node:crypto';
import { closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { storeErrorOf } from './fault-of.ts';
import type { MigrationStatus } from './migrate.ts';
import { readPrivateFile } from './private-file.ts';
import { flushFolder, moveOver, namesIn, removeFiles, UNFINISHED, writeWhole } from './whole-file.ts';

/*
 * Copies of the database from before its tables were changed, in the folder `backups` of the state directory. A copy is
 * whole or has no description: it is written and flushed under another name, and its description, with its digest, last.
 */

const FOLDER = 'backups';
/** Older ones go when a new one is made. */
const MOST_BACKUPS = 3;
const MAX_DESCRIPTION_BYTES = 256 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const DATABASE = 'palisade.db';

/** A copy of the database, and what it was made for. */
export type Backup = {
  readonly name: string;
  readonly madeAt: string;
  /** The palisade that made the copy, before it changed the tables. */
  readonly madeBy: string;
  /** The newest palisade that had changed the tables until then; null where none had left its version. */
  readonly from: string | null;
  readonly migrations: number;
  readonly bytes: number;
  readonly sha256: string;
};

type About = {
  readonly version: string;
  readonly nowMs: number;
  /** A backup that stays, however old it is. */
  readonly spare?: string;
};

/** Copies what is committed, also while the caller holds the write lock; flushed before it returns. */
export function makeBackup(directory: string, { applied }: MigrationStatus, about: About): Backup {
  const folder = join(directory, FOLDER);
  const madeAt = isoTime(about.nowMs);
  const name = `before-${about.version}-${madeAt.replace(/[-:.]/g, '')}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    sweepUnfinished(folder);
    const half = join(folder, `${name}.db${UNFINISHED}`);
    copyInto(join(directory, DATABASE), half);
    const facts = { bytes: statSync(half).size, sha256: digestOfFile(half) };
    moveOver(folder, `${name}.db${UNFINISHED}`, `${name}.db`);
    const from = applied.map(({ version }) => version).findLast((version) => version !== null) ?? null;
    const backup = { name, madeAt, madeBy: about.version, from, migrations: applied.length, ...facts };
    writeWhole(folder, `${name}.json`, `${JSON.stringify(backup, null, 2)}\n`, 0o600);
    removeOldest(directory, about.spare);
    return backup;
  } catch (error) {
    throw storeErrorOf(error, `keep a backup in "${folder}"`);
  }
}

/** A whole copy of a database, for its owner alone, flushed. */
export function copyInto(source: string, target: string): void {
  // For its owner alone from its first byte on: SQLite takes an empty file as it is.
  closeSync(openSync(target, 'wx', 0o600));
  const db = new Database(source);
  try {
    db.prepare('VACUUM INTO ?').run([target]);
  } finally {
    db.close();
  }
  const fd = openSync(target, 'r');
  fsyncSync(fd);
  closeSync(fd);
}

/** The whole backups, the newest first. */
export function listBackups(directory: string): readonly Backup[] {
  const folder = join(directory, FOLDER);
  const names = namesIn(folder).filter((name) => name.endsWith('.json'));
  const backups = names.flatMap((name) => readBackup(join(folder, name)) ?? []);
  return backups.sort((a, b) => (a.madeAt < b.madeAt ? 1 : -1));
}

/** Boundary: an edited description names no file outside of the folder. */
function readBackup(path: string): Backup | null {
  try {
    const facts = JSON.parse(readPrivateFile(path, MAX_DESCRIPTION_BYTES)?.toString() ?? 'null') as Backup;
    return path.endsWith(`/${facts.name}.json`) && typeof facts.sha256 === 'string' ? facts : null;
  } catch {
    return null;
  }
}

/**
 * Puts a backup in the place of the database, in one step. The caller has kept what is there now, and no other process
 * uses it.
 */
export function putBack(directory: string, backup: Backup): void {
  const source = join(directory, FOLDER, `${backup.name}.db`);
  const half = `${DATABASE}.restored${UNFINISHED}`;
  try {
    if (digestOfFile(source) !== backup.sha256)
      throw new CodedError(
        'store/corrupt',
        `Cannot go back to "${source}": its bytes are not those that were written, expected the sha256 ${backup.sha256}`,
      );
    rmSync(join(directory, half), { force: true });
    copyFileSync(source, join(directory, half));
    const fd = openSync(join(directory, half), 'r');
    fsyncSync(fd);
    closeSync(fd);
    emptyLog(join(directory, DATABASE));
    moveOver(directory, half, DATABASE);
    removeFiles(directory, [`${DATABASE}-wal`, `${DATABASE}-shm`]);
  } catch (error) {
    throw storeErrorOf(error, `go back to "${source}"`);
  }
}

/** The write-ahead log belongs to the old file: a crash right after the exchange must find it empty. */
function emptyLog(path: string): void {
  const db = new Database(path);
  try {
    db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').raw().all([]);
  } finally {
    db.close();
  }
}

function sweepUnfinished(folder: string): void {
  const names = namesIn(folder);
  const described = new Set(names.flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -5)] : [])));
  const isLeft = (name: string) =>
    name.endsWith(UNFINISHED) || (name.endsWith('.db') && !described.has(name.slice(0, -3)));
  removeFiles(folder, names.filter(isLeft));
}

function removeOldest(directory: string, spare?: string): void {
  const folder = join(directory, FOLDER);
  const gone = listBackups(directory)
    .slice(MOST_BACKUPS)
    .filter(({ name }) => name !== spare);
  if (gone.length === 0) return;
  removeFiles(
    folder,
    gone.flatMap(({ name }) => [`${name}.json`, `${name}.db`]),
  );
  flushFolder(folder);
}

function digestOfFile(path: string): string {
  const digest = createHash('sha256');
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const fd = openSync(path, 'r');
  try {
    for (let count = readSync(fd, buffer); count > 0; count = readSync(fd, buffer))
      digest.update(buffer.subarray(0, count));
  } finally {
    closeSync(fd);
  }
  return digest.digest('hex');
}
