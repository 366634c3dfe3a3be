import type Database from 'libsql';
import { CodedError } from '../core/coded-error.ts';
import { type Digest, digestBytes } from '../core/digest.ts';

/*
 * The state directory has no number of a version but the list of the migrations that made it, each with the digest of
 * its text and the palisade that applied it. They are applied in one transaction: a process that is killed meanwhile
 * leaves the state as it was, and the next one begins again. Before it, `prepare` keeps a backup.
 */

/** One step of one module's tables. Ids sort in the order of application and are never reused. */
export type Migration = {
  readonly id: string;
  readonly sql: string;
  /** Where this finds a row, the step has nothing to do, and counts as applied. */
  readonly unless?: string;
};

/** A migration that a state directory has. Those of the first versions were kept without a digest and a version. */
export type AppliedMigration = {
  readonly id: string;
  readonly appliedAtMs: number;
  readonly digest: string | null;
  readonly version: string | null;
};

/** How the migrations of a state directory compare with those of this program. */
export type MigrationStatus = {
  readonly applied: readonly AppliedMigration[];
  /** Ids that this program would apply. */
  readonly pending: readonly string[];
  /** Those that this program does not know: a newer one applied them. */
  readonly unknown: readonly AppliedMigration[];
  /** Those that were made from another text. */
  readonly different: readonly AppliedMigration[];
};

export type MigrateOptions = {
  readonly directory: string;
  readonly migrations: readonly Migration[];
  readonly version: string;
  readonly nowMs: number;
  /** Called with the write lock held, before the tables of an existing state directory are changed. */
  readonly prepare: (status: MigrationStatus) => void;
};

const LEDGER =
  'CREATE TABLE IF NOT EXISTS store_migration (id TEXT PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT';
/** Columns that an older palisade neither reads nor writes. */
const LEDGER_COLUMNS = ['digest TEXT', 'version TEXT'];

/** What of a migration its digest covers. */
export function digestOf({ id, sql, unless = '' }: Migration): Digest {
  return digestBytes(`${id}\n${unless}\n${sql}`);
}

/** Brings the tables of all modules up to date, all or nothing; refuses a database of a newer palisade. */
export function migrate(db: Database.Database, options: MigrateOptions): void {
  if (isUpToDate(db, options)) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have done it while this one waited for the lock.
    const status = readStatus(db, options.migrations);
    demandKnown(status, options);
    if (status.applied.length > 0 && status.pending.length > 0) options.prepare(status);
    extendLedger(db);
    apply(db, status, options);
    db.exec('COMMIT');
  } catch (error) {
    // A full disk ends the transaction by itself.
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function apply(
  db: Database.Database,
  { pending }: MigrationStatus,
  { migrations, version, nowMs }: MigrateOptions,
): void {
  const missing = new Set(pending);
  const remember = db.prepare(
    'INSERT INTO store_migration (id, applied_at_ms, digest, version) VALUES (?, ?, ?, ?)',
  );
  const adopt = db.prepare('UPDATE store_migration SET digest = ? WHERE id = ? AND digest IS NULL');
  for (const migration of migrations) {
    if (!missing.has(migration.id)) adopt.run([digestOf(migration), migration.id]);
    else {
      if (!isDone(db, migration)) db.exec(migration.sql);
      remember.run([migration.id, nowMs, digestOf(migration), version]);
    }
  }
}

function isDone(db: Database.Database, { unless }: Migration): boolean {
  return unless !== undefined && db.prepare(unless).raw().get([]) !== undefined;
}

function extendLedger(db: Database.Database): void {
  db.exec(LEDGER);
  const text = ledgerOf(db) ?? '';
  for (const column of LEDGER_COLUMNS)
    if (!text.includes(column)) db.exec(`ALTER TABLE store_migration ADD COLUMN ${column}`);
}

function isUpToDate(db: Database.Database, options: MigrateOptions): boolean {
  const status = readStatus(db, options.migrations);
  demandKnown(status, options);
  return status.pending.length === 0 && status.applied.every(({ digest }) => digest !== null);
}

/** Compares what the database has with what this program knows; changes nothing. */
export function readStatus(db: Database.Database, migrations: readonly Migration[]): MigrationStatus {
  const applied = appliedIn(db);
  const has = new Set(applied.map(({ id }) => id));
  const digests = new Map(migrations.map((migration) => [migration.id, digestOf(migration)]));
  return {
    applied,
    pending: migrations.map(({ id }) => id).filter((id) => !has.has(id)),
    unknown: applied.filter(({ id }) => !digests.has(id)),
    different: applied.filter(
      ({ id, digest }) => digest !== null && digests.has(id) && digests.get(id) !== digest,
    ),
  };
}

function appliedIn(db: Database.Database): readonly AppliedMigration[] {
  const ledger = ledgerOf(db);
  if (ledger === null) return [];
  const isOld = LEDGER_COLUMNS.some((column) => !ledger.includes(column));
  const columns = isOld ? 'NULL, NULL' : 'digest, version';
  const rows = db
    .prepare(`SELECT id, applied_at_ms, ${columns} FROM store_migration ORDER BY rowid`)
    .raw()
    .all([]) as [string, number, string | null, string | null][];
  return rows.map(([id, appliedAtMs, digest, version]) => ({ id, appliedAtMs, digest, version }));
}

function ledgerOf(db: Database.Database): string | null {
  const row = db.prepare("SELECT sql FROM sqlite_master WHERE name = 'store_migration'").raw().get([]);
  return row === undefined ? null : (row as [string])[0];
}

/** Boundary: unknown or other tables may contain rules that we would break. */
function demandKnown({ unknown, different }: MigrationStatus, { directory, version }: MigrateOptions): void {
  const newest = unknown.at(-1);
  if (newest !== undefined) {
    const by = newest.version === null ? 'a newer palisade' : `palisade ${newest.version}`;
    const wanted = newest.version === null ? 'a newer one' : `palisade ${newest.version} or newer`;
    throw new CodedError(
      'store/newer',
      `Cannot open the state directory "${directory}": ${by} has changed it (migration "${newest.id}"), and this is palisade ${version}`,
      {
        remedy: `Install ${wanted}, choose another state directory with --state, or go back to a backup that was made before: \`palisade upgrade --check\` lists them.`,
      },
    );
  }
  const [other] = different;
  if (other === undefined) return;
  throw new CodedError(
    'store/newer',
    `Cannot open the state directory "${directory}": its migration "${other.id}" was made from another text, so an unreleased palisade ${other.version ?? ''} has made it`,
    { remedy: 'Use the build that made it, or choose another state directory with --state.' },
  );
}
