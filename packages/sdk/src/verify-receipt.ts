/**
 * Verifies a receipt offline. The receipt, the input, the output and the proof are untrusted; the key ring is the root
 * of trust. Every check is a line of the report, in the order of docs/attestation.md. Nothing is fetched, no clock is
 * read, and no document makes it throw.
 */

import { toHex, toUtf8 } from './bytes.ts';
import { canonicalize } from './canonical.ts';
import { readEnvelope } from './envelope.ts';
import type { KeyRing } from './key-ring.ts';
import { type Opened, openEnvelope, type Verification } from './open-envelope.ts';
import { type Primitives, webPrimitives } from './primitives.ts';
import { checkProof } from './proof.ts';
import { RECEIPT_PAYLOAD_TYPE, type Statement, type Subject } from './receipt.ts';
import { checkConsistency } from './receipt-consistency.ts';
import { STATEMENT } from './receipt-shape.table.ts';
import { allOk, type Check, type Found, found, judge, missed, note, quote } from './report.ts';

/** Whether everything is valid, line by line. The statement is present once a known key has signed it. */
export type Report = {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly statement: Statement | null;
};

/** What else the reader has; undefined means that it is not compared. */
export type ReceiptOptions = {
  readonly input?: unknown;
  readonly output?: unknown;
  readonly proof?: string | Uint8Array;
};

/** Verifies one receipt, and that it is about this input, this output and this place in the journal where given. */
export async function verifyReceipt(
  raw: string | Uint8Array,
  keys: KeyRing,
  options: ReceiptOptions = {},
  primitives: Primitives = webPrimitives,
): Promise<Report> {
  const verification: Verification = { checks: [], keys, primitives };
  const { checks } = verification;
  const envelope = readEnvelope(raw, RECEIPT_PAYLOAD_TYPE);
  const opened = await openEnvelope(verification, envelope, { what: 'receipt', shape: STATEMENT });
  if (opened === null) return { ok: false, checks, statement: null };
  const statement = opened.value as Statement;
  checkConsistency(checks, statement, opened.key);
  if (options.input !== undefined) await checkSubject(verification, statement, ['input', options.input]);
  if (options.output !== undefined) await checkSubject(verification, statement, ['output', options.output]);
  if (options.proof !== undefined) await checkPlace(verification, options.proof, opened);
  return { ok: allOk(checks), checks, statement };
}

async function checkSubject(
  { checks, primitives }: Verification,
  { subject }: Statement,
  [name, value]: readonly [Subject['name'], unknown],
): Promise<void> {
  const wanted = subject.find((candidate) => candidate.name === name)?.digest.sha256;
  note(checks, `The ${name} is the one given`, await compareDigest(value, wanted, primitives));
}

async function compareDigest(
  value: unknown,
  wanted: string | undefined,
  primitives: Primitives,
): Promise<Found<true>> {
  if (wanted === undefined) return missed('the receipt names no digest, expected that of the value given');
  const text = encodeValue(value);
  if (!text.ok) return text;
  const digest = toHex(await primitives.sha256(toUtf8(text.value)));
  return judge(digest === wanted, `SHA-256 "${wanted}"`, `SHA-256 "${digest}", expected "${wanted}"`);
}

function encodeValue(value: unknown): Found<string> {
  try {
    return found(canonicalize(value), 'canonical JSON');
  } catch (error) {
    return missed(error instanceof Error ? error.message : 'the value has no canonical encoding');
  }
}

/** Whether the proven record is the one the receipt points to and points back at the receipt. */
async function checkPlace(
  verification: Verification,
  proof: string | Uint8Array,
  opened: Opened,
): Promise<void> {
  const { checks, primitives } = verification;
  const record = await checkProof(verification, proof);
  if (record === null) return;
  const { call, journal } = (opened.value as Statement).predicate;
  const { seq, prev } = journal;
  note(checks, 'The record has the number that the receipt names', agree('seq', record.seq, seq));
  note(checks, 'The record follows the one that the receipt names', agree('prev', record.prev, prev));
  note(checks, 'The record is about the same call', agree('call', record.call, call.id));
  const digest = toHex(await primitives.sha256(opened.payload));
  const { receipt: held } = record.body;
  note(checks, 'The record holds the digest of the receipt', agree('body.receipt', held, digest));
}

function agree(field: string, is: unknown, expected: string | number): Found<true> {
  const sentence = `field "${field}" is ${quote(is)}`;
  return judge(is === expected, sentence, `${sentence}, expected ${quote(expected)}`);
}
