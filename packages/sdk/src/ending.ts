import { toHex } from './bytes.ts';
import { parseEnvelope } from './envelope.ts';
import type { KeyRing } from './key-ring.ts';
import { type Opened, openEnvelope, type Verification } from './open-envelope.ts';
import type { Primitives } from './primitives.ts';
import { RECEIPT_PAYLOAD_TYPE, type Statement } from './receipt.ts';
import { checkConsistency } from './receipt-consistency.ts';
import { STATEMENT } from './receipt-shape.table.ts';
import type { JournalRecord } from './record.ts';
import { quote } from './report.ts';

/** Whether a record contains the receipt of a call. */
export function holdsReceipt({ body }: JournalRecord): boolean {
  return Object.hasOwn(body, 'envelope');
}

/**
 * Describes what is wrong with the receipt of a record; null if nothing is: a known key signed it, the record contains
 * its digest, and it states exactly what the record states.
 */
export async function findEndingError(
  record: JournalRecord,
  keys: KeyRing,
  primitives: Primitives,
): Promise<string | null> {
  const verification: Verification = { checks: [], keys, primitives };
  const envelope = parseEnvelope(record.body.envelope, RECEIPT_PAYLOAD_TYPE);
  const opened = await openEnvelope(verification, envelope, { what: 'receipt', shape: STATEMENT });
  if (opened !== null) checkConsistency(verification.checks, opened.value as Statement, opened.key);
  const failed = verification.checks.find(({ ok }) => !ok);
  if (failed !== undefined) return `its receipt does not verify: ${failed.detail}`;
  return opened === null ? 'its receipt cannot be opened' : findDifference(record, opened, primitives);
}

async function findDifference(
  record: JournalRecord,
  opened: Opened,
  primitives: Primitives,
): Promise<string | null> {
  const { predicate } = opened.value as Statement;
  const { status, code } = predicate.outcome;
  const digest = toHex(await primitives.sha256(opened.payload));
  const { body } = record;
  const pairs: readonly (readonly [field: string, is: unknown, signed: unknown])[] = [
    ['body.receipt', body.receipt, digest],
    ['seq', record.seq, predicate.journal.seq],
    ['prev', record.prev, predicate.journal.prev],
    ['at', record.at, predicate.call.endedAt],
    ['kind', record.kind, status === 'refused' ? 'refused' : 'ended'],
    ['call', record.call, predicate.call.id],
    ['principal', record.principal, predicate.principal],
    ['tool', record.tool, predicate.tool.id],
    ['tenant', record.tenant, predicate.tenant],
    ['body.status', body.status, status],
    ['body.code', body.code, code],
  ];
  const odd = pairs.find(([, is, signed]) => is !== signed);
  if (odd === undefined) return null;
  const [field, is, signed] = odd;
  return `field "${field}" is ${quote(is)}, its receipt says ${quote(signed)}`;
}
