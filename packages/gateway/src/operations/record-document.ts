import type { JournalRecord } from '@palisade/sdk';
import { CodedError } from '../core/coded-error.ts';
import type { RecordRow } from '../journal/head.ts';

/** The record as programs read it. */
export function recordOf(row: RecordRow): JournalRecord {
  return JSON.parse(row.line) as JournalRecord;
}

/** The same with its hash, which the record after it names. */
export function hashedRecordOf(row: RecordRow): JournalRecord & { readonly hash: string } {
  return { ...recordOf(row), hash: Buffer.from(row.hash).toString('hex') };
}

/** The record that holds the receipt of a call, among those of the call. */
export function endingIn<T extends { readonly kind: string }>(records: readonly T[], call: string): T {
  const ending = records.find(({ kind }) => kind === 'ended' || kind === 'refused');
  if (ending !== undefined) return ending;
  const message = `Cannot find the ending of "${call}": the call is still running`;
  throw new CodedError('journal/unknown-record', message);
}
