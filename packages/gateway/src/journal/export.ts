import { encodeExportCheckpoint, encodeExportHeader, encodeProof, ZERO_HASH } from '@palisade/sdk';
import { CodedError } from '../core/coded-error.ts';
import type { Store } from '../store/store.ts';
import type { Journal } from './journal.ts';
import { recordAt, recordsFrom } from './search.ts';
import type { Segments } from './segments.ts';
import { Tree } from './tree.ts';

export type JournalParts = { readonly store: Store; readonly journal: Journal; readonly segments: Segments };

/** The lines of an export that anyone can verify: the records from `first` on, then a checkpoint signed just now. */
export function* exportLines({ store, journal, segments }: JournalParts, first: number): Generator<string> {
  const { head, envelope } = store.transact((tx) => journal.checkpoint(tx));
  if (first < 1 || first > head.seq) {
    throw new CodedError(
      'journal/unknown-record',
      `Cannot export from record ${first}: the journal has 1 to ${head.seq}`,
    );
  }
  const before = first === 1 ? undefined : recordAt(segments, first - 1);
  yield encodeExportHeader({
    first,
    frontier: new Tree(store, segments).frontier(first - 1).map(hex),
    prev: before === undefined ? ZERO_HASH : hex(before.hash),
  });
  for (const { seq, line } of recordsFrom(segments, first)) {
    if (seq > head.seq) break;
    yield line;
  }
  yield encodeExportCheckpoint(envelope);
}

/** A proof that record `seq` is in the journal of a checkpoint signed just now. */
export function proveRecord({ store, journal, segments }: JournalParts, seq: number): string {
  const record = recordAt(segments, seq);
  if (record === undefined)
    throw new CodedError('journal/unknown-record', `Cannot prove record ${seq}: there is none`);
  const { head, envelope } = store.transact((tx) => journal.checkpoint(tx));
  const path = new Tree(store, segments).path(seq - 1, head.seq).map(hex);
  return encodeProof({ checkpoint: envelope, path, record: record.line });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
