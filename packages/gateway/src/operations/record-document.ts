import type { JournalRecord } from '@palisade/sdk';
import type { RecordRow } from '../journal/tables.ts';

/** The record as programs read it. */
export function recordOf(row: RecordRow): JournalRecord {
  return JSON.parse(row.line) as JournalRecord;
}

/** The same with its hash, which the record after it names. */
export function hashedRecordOf(row: RecordRow): JournalRecord & { readonly hash: string } {
  return { ...recordOf(row), hash: Buffer.from(row.hash).toString('hex') };
}
