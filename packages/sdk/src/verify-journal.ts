/**
 * Verifies a journal export in one pass and in constant memory. The lines are untrusted; the key ring is the root of
 * trust. The chain shows that no record was changed, added, taken out or moved; the signed checkpoint shows that none
 * was cut off at the end; a checkpoint that the reader saved earlier shows that the journal was not replaced by an
 * older or another one. A record with a receipt states what the receipt states. What else the records mean is not
 * judged here.
 */

import { batchLines } from './batch-lines.ts';
import {
  CHECKPOINT_PAYLOAD_TYPE,
  type Checkpoint,
  checkCheckpoint,
  parseCheckpointEnvelope,
} from './checkpoint.ts';
import { checkCover } from './checkpoint-cover.ts';
import { readEnvelope } from './envelope.ts';
import { earlierBad, type FirstBad, noteFirstBad } from './first-bad.ts';
import { JournalWalk } from './journal-walk.ts';
import type { KeyRing } from './key-ring.ts';
import type { Verification } from './open-envelope.ts';
import { type Primitives, webPrimitives } from './primitives.ts';
import { allOk, type Check } from './report.ts';
import { checkSavedCheckpoint } from './saved-checkpoint.ts';

/** The result of each check, and the first line that fails one. */
export type JournalReport = {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  /** How many records were read; all of them when the report is ok. */
  readonly records: number;
  readonly firstBad: FirstBad | null;
};

export type JournalOptions = {
  /** The text of a checkpoint envelope that the reader kept from before. */
  readonly knownCheckpoint?: string | Uint8Array;
};

const HEADER_CHECK = 'The export has a header';
const RECORDS_CHECK = 'Every record is canonical and follows the one before it';
const ENDINGS_CHECK = 'Every ending holds its receipt';

/** Verifies an export from its lines without line feeds; `linesOf` makes them from bytes. */
export async function verifyJournal(
  lines: Iterable<string> | AsyncIterable<string>,
  keys: KeyRing,
  options: JournalOptions = {},
  primitives: Primitives = webPrimitives,
): Promise<JournalReport> {
  const verification: Verification = { checks: [], keys, primitives };
  const saved = await readSaved(verification, options.knownCheckpoint);
  if (saved === null && options.knownCheckpoint !== undefined) return report(verification, 0, null);
  const walk = new JournalWalk({ keys, primitives }, saved?.size ?? null);
  for await (const batch of batchLines(lines)) {
    const bad = await walk.take(batch);
    if (bad !== null) return report(verification, walk.records, noteLines(verification.checks, walk, bad));
  }
  const firstBad = await finish(verification, walk, saved);
  return report(verification, walk.records, firstBad);
}

function report({ checks }: Verification, records: number, firstBad: FirstBad | null): JournalReport {
  return { ok: allOk(checks) && firstBad === null, checks, records, firstBad };
}

async function readSaved(
  verification: Verification,
  raw: string | Uint8Array | undefined,
): Promise<Checkpoint | null> {
  if (raw === undefined) return null;
  return checkCheckpoint(verification, readEnvelope(raw, CHECKPOINT_PAYLOAD_TYPE), 'saved checkpoint');
}

/** Reports what was read: the header, the records and their receipts, up to the bad line where there is one. */
function noteLines(checks: Check[], walk: JournalWalk, bad: FirstBad | null): FirstBad | null {
  if (walk.header === null) return noteFirstBad(checks, HEADER_CHECK, bad);
  noteFirstBad(checks, HEADER_CHECK, null, `starts at record ${walk.header.first}`);
  noteFirstBad(checks, RECORDS_CHECK, bad, `${walk.records} records up to ${walk.last?.seq ?? 0}`);
  // A journal that was not read to its end may have bad endings after it.
  if (bad === null || walk.badEnding !== null)
    noteFirstBad(checks, ENDINGS_CHECK, walk.badEnding, `${walk.endings} receipts`);
  return earlierBad(bad, walk.badEnding);
}

/** The checks that need the whole export; returns the first problem. */
async function finish(
  verification: Verification,
  walk: JournalWalk,
  saved: Checkpoint | null,
): Promise<FirstBad | null> {
  const { checks } = verification;
  // The signature is judged before the last link is, but reported after it.
  const signed: Verification = { ...verification, checks: [] };
  const checkpoint = await readSigned(signed, walk);
  const broken = walk.judgeLast(checkpoint?.head ?? null) ?? findMissing(walk);
  const bad = noteLines(checks, walk, broken);
  if (bad !== null) return bad;
  checks.push(...signed.checks);
  if (checkpoint === null) return { line: walk.line, seq: null, why: signed.checks.at(-1)?.detail ?? '' };
  const uncovered = await checkCover(checks, walk, checkpoint);
  return uncovered === null && saved !== null
    ? checkSavedCheckpoint(checks, walk, { saved, checkpoint })
    : uncovered;
}

async function readSigned(verification: Verification, walk: JournalWalk): Promise<Checkpoint | null> {
  if (walk.checkpoint === null) return null;
  return checkCheckpoint(verification, parseCheckpointEnvelope(walk.checkpoint));
}

/** What an export lacks that ends too early. */
function findMissing(walk: JournalWalk): FirstBad | null {
  const line = walk.line + 1;
  if (walk.header === null) return { line, seq: null, why: 'the export is empty, expected a header' };
  const seq = (walk.last?.seq ?? 0) + 1;
  if (walk.checkpoint === null)
    return { line, seq, why: 'the export ends without a checkpoint: its tail was cut off' };
  return walk.records === 0
    ? { line: walk.line, seq, why: 'the export holds no record, expected at least one' }
    : null;
}
