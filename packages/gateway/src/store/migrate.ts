import type Database from 'libsql';
import { CodedError } from '../core/coded-error.ts';

/** One step of one module's tables. Ids sort in the order of application and are never reused. */
export type Migration = { readonly id: string; readonly sql: string };

const LEDGER =
  'CREATE TABLE IF NOT EXISTS store_migration (id TEXT PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT';

/** Brings the tables of all modules up to date, all or nothing; refuses a database of a newer palisade. */
export function migrate(db: Database.Database, migrations: readonly Migration[], nowMs: number): void {
  if (isUpToDate(db, migrations)) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec(LEDGER);
    const applied = appliedIds(db);
    const remember = db.prepare('INSERT INTO store_migration (id, applied_at_ms) VALUES (?, ?)');
    for (const { id, sql } of migrations) {
      if (applied.has(id)) continue;
      db.exec(sql);
      remember.run([id, nowMs]);
    }
    db.exec('COMMIT');
  } catch (error) {
    // A full disk ends the transaction by itself.
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function isUpToDate(db: Database.Database, migrations: readonly Migration[]): boolean {
  const hasLedger = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'store_migration'").raw().get([]);
  if (hasLedger === undefined) return false;
  const applied = appliedIds(db);
  const known = new Set(migrations.map(({ id }) => id));
  for (const id of applied) {
    // Boundary: unknown tables may contain rules that we would break.
    if (!known.has(id))
      throw new CodedError(
        'store/newer',
        `Cannot open the state directory: it has the unknown migration "${id}"`,
      );
  }
  return known.size === applied.size;
}

function appliedIds(db: Database.Database): Set<string> {
  const rows = db.prepare('SELECT id FROM store_migration').raw().all([]) as [string][];
  return new Set(rows.map(([id]) => id));
}
