import { toUtf8 } from './bytes.ts';
import { MAX_DOCUMENT_BYTES, readCanonical } from './document.ts';
import type { Primitives } from './primitives.ts';
import { type Found, found, missed } from './report.ts';
import {
  anyObject,
  constant,
  describeMismatch,
  hash,
  instant,
  name,
  nullable,
  objectOf,
  positiveInteger,
  type Shape,
  text,
} from './shape.ts';

/** The `prev` of the first record. */
export const ZERO_HASH = '0'.repeat(64);

/** One line of the journal. */
export type JournalRecord = {
  readonly at: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly call: string | null;
  readonly kind: string;
  readonly prev: string;
  readonly principal: string | null;
  readonly seq: number;
  readonly tenant: string | null;
  readonly tool: string | null;
  readonly v: 1;
};

const nullableText: Shape = nullable(text);

const RECORD: Shape = objectOf({
  at: instant,
  body: anyObject,
  call: nullableText,
  kind: name,
  prev: hash,
  principal: nullableText,
  seq: positiveInteger,
  tenant: nullableText,
  tool: nullableText,
  v: constant(1),
});

/** The record in a line that is exactly its canonical encoding. */
export function parseRecord(line: string): Found<JournalRecord> {
  // Boundary: a line is measured before it is parsed.
  if (isTooLong(line)) return missed(`the line has more than ${MAX_DOCUMENT_BYTES} bytes`);
  const read = readCanonical(line);
  if (!read.ok) return read;
  const mismatch = RECORD(read.value.value);
  if (mismatch !== null) return missed(describeMismatch(mismatch));
  const record = read.value.value as JournalRecord;
  return found(record, `record ${record.seq}`);
}

/** A character has one to three bytes per UTF-16 unit, so only long lines are worth counting. */
function isTooLong(line: string): boolean {
  if (line.length > MAX_DOCUMENT_BYTES) return true;
  return line.length * 3 > MAX_DOCUMENT_BYTES && toUtf8(line).length > MAX_DOCUMENT_BYTES;
}

/** The hash of a record line: the `prev` of the next record and the leaf of the Merkle tree at once. */
export function hashRecord(line: string, primitives: Primitives): Uint8Array | Promise<Uint8Array> {
  const bytes = toUtf8(line);
  const prefixed = new Uint8Array(bytes.length + 1);
  prefixed.set(bytes, 1);
  return primitives.sha256(prefixed);
}
