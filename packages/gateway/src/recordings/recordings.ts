import { promisify } from 'node:util';
import { gunzipSync, gzip } from 'node:zlib';
import { canonicalize } from '@palisade/sdk';
import { type Digest, digestBytes } from '../core/digest.ts';
import type { Json } from '../core/json.ts';
import type { Recording } from '../core/recording.ts';
import type { Migration } from '../store/migrate.ts';
import { insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';

/**
 * Keeps what is needed to replay calls of modules. A recording contains inputs and answers unchanged, in the database
 * of the operator and nowhere else; the receipt has its digest. Their size is bounded: the oldest are dropped first.
 */

export type Recorded = { readonly recording: Recording; readonly module: Uint8Array };

/** A recording as the text that its digest covers, with its module. */
export type Written = {
  readonly text: string;
  readonly digest: Digest;
  readonly module: { readonly sha256: Digest; readonly bytes: Uint8Array };
};

/** The same, compressed for storage. */
export type Packed = Pick<Written, 'digest' | 'module'> & { readonly body: Buffer };

/** For all recordings and their modules together, as stored in the database. */
const MOST_BYTES = 256 * 1024 * 1024;
const MOST_UNPACKED_BYTES = 64 * 1024 * 1024;

const compress = promisify<string, Buffer>(gzip);
const query = queries<RecordingTables>();

const selectRun = query<{ call: string }>()((db, p) =>
  db
    .selectFrom('recorded_run')
    .innerJoin('recorded_module', 'recorded_module.sha256', 'recorded_run.module')
    .select(['recorded_run.body', 'recorded_module.bytes'])
    .where('call', '=', p('call')),
);
const insertModule = insertInto<ModuleRow>('recorded_module', 'keep');
const insertRun = insertInto<RunRow>('recorded_run', 'keep');
const selectTotal = query()((db) => db.selectFrom('recorded_total').select('bytes'));
const selectModule = query<{ sha256: string }>()((db, p) =>
  db.selectFrom('recorded_module').select('sha256').where('sha256', '=', p('sha256')),
);
const selectOldest = query()((db) => db.selectFrom('recorded_run').select('seq').orderBy('seq').limit(1));
const deleteRun = query<{ seq: number }>()((db, p) =>
  db.deleteFrom('recorded_run').where('seq', '=', p('seq')),
);
const deleteUnused = query()((db) =>
  db
    .deleteFrom('recorded_module')
    .where('sha256', 'not in', (sub) => sub.selectFrom('recorded_run').select('module')),
);

/** The digest by which a receipt names a recording. */
export function recordingDigest(recording: Recording): Digest {
  return digestBytes(canonicalize(recording as unknown as Json));
}

export function writeDown({ recording, module }: Recorded): Written {
  const text = canonicalize(recording as unknown as Json);
  return { text, digest: digestBytes(text), module: { sha256: recording.module, bytes: module } };
}

/** Runs asynchronously, so that the database is not locked in the meantime. */
export async function pack({ text, digest, module }: Written): Promise<Packed> {
  return { digest, module, body: await compress(text) };
}

/** Keeps the recording of a call with its module, once, and frees space for it. */
export function saveRecording(
  tx: Transaction,
  call: string,
  { module, body }: Packed,
  mostBytes = MOST_BYTES,
): void {
  makeRoom(tx, body.length + module.bytes.length, mostBytes);
  const { sha256 } = module;
  if (tx.get(selectModule, { sha256 }) === undefined)
    tx.run(insertModule, { sha256, bytes: Buffer.from(module.bytes) });
  tx.run(insertRun, { call, module: sha256, body, bytes: body.length });
}

/** The recording of a call; null where it was not kept, or no longer is. */
export function findRecording(reader: Reader, call: string): Recorded | null {
  const row = reader.get(selectRun, { call });
  if (row === undefined) return null;
  const text = gunzipSync(row.body, { maxOutputLength: MOST_UNPACKED_BYTES }).toString('utf8');
  return { recording: JSON.parse(text) as Recording, module: row.bytes };
}

/** `wanted` includes the module even if it is already stored, so this errs on the side of freeing more. */
function makeRoom(tx: Transaction, wanted: number, mostBytes: number): void {
  while ((tx.get(selectTotal, {})?.bytes ?? 0) + wanted > mostBytes) {
    const oldest = tx.get(selectOldest, {});
    if (oldest === undefined) return;
    tx.run(deleteRun, { seq: oldest.seq });
    tx.run(deleteUnused, {});
  }
}

type RunRow = { call: string; module: string; body: Buffer; bytes: number };
type ModuleRow = { sha256: string; bytes: Buffer };
/** `seq` is the order of recording: the oldest is dropped first. The database keeps the total, including modules. */
type RecordingTables = {
  recorded_run: RunRow & { seq: number };
  recorded_module: ModuleRow;
  recorded_total: { bytes: number };
};

export const recordingMigrations: readonly Migration[] = [
  {
    id: 'recordings/001',
    sql: `
CREATE TABLE recorded_module (
  sha256 TEXT PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;
CREATE TABLE recorded_run (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  call TEXT NOT NULL UNIQUE,
  module TEXT NOT NULL REFERENCES recorded_module (sha256),
  body BLOB NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;
CREATE INDEX recorded_run_by_module ON recorded_run (module);`,
  },
  {
    id: 'recordings/002',
    // Summing up all rows at every call would take a tenth of a second and more where there are many.
    sql: `
CREATE TABLE recorded_total (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO recorded_total SELECT 1,
  (SELECT coalesce(sum(bytes), 0) FROM recorded_run) + (SELECT coalesce(sum(length(bytes)), 0) FROM recorded_module);
CREATE TRIGGER recorded_run_came AFTER INSERT ON recorded_run BEGIN
  UPDATE recorded_total SET bytes = bytes + NEW.bytes;
END;
CREATE TRIGGER recorded_run_went AFTER DELETE ON recorded_run BEGIN
  UPDATE recorded_total SET bytes = bytes - OLD.bytes;
END;
CREATE TRIGGER recorded_module_came AFTER INSERT ON recorded_module BEGIN
  UPDATE recorded_total SET bytes = bytes + length(NEW.bytes);
END;
CREATE TRIGGER recorded_module_went AFTER DELETE ON recorded_module BEGIN
  UPDATE recorded_total SET bytes = bytes - length(OLD.bytes);
END;`,
  },
];
