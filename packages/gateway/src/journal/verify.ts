import {
  type Check,
  encodeExportCheckpoint,
  encodeExportHeader,
  type KeyRing,
  type Primitives,
  verifyJournal,
  ZERO_HASH,
} from '@palisade/sdk';
import { CodedError } from '../core/coded-error.ts';
import type { JournalParts } from './export.ts';
import { type Head, readHead } from './head.ts';
import { type CheckpointRow, query } from './tables.ts';
import { type Bad, type Trust, Walk } from './walk.ts';

/*
 * Verifies the journal as it lies in the state directory: the records up to the last signed checkpoint by the verifier
 * of the sdk, the few after it by the chain and their receipts, and then what stands beside the records: the columns that are searched, the
 * stored parts of the tree, the head, and the list of open calls. The first bad record is named; a cut-off tail shows
 * against the checkpoint.
 */

export type LiveReport = {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly records: number;
  readonly firstBad: Bad | null;
};

const newestCheckpoint = query()((db) =>
  db.selectFrom('journal_checkpoint').selectAll().orderBy('size', 'desc').limit(1),
);
const lastRecord = query()((db) => db.selectFrom('journal_record').select((e) => e.fn.max('seq').as('seq')));

export async function verifyLive(
  parts: JournalParts,
  keys: KeyRing,
  primitives: Primitives,
): Promise<LiveReport> {
  const { store, journal } = parts;
  const { head, checkpoint, open, lastSeq } = store.transact((tx) => ({
    head: readHead(tx),
    checkpoint: tx.get(newestCheckpoint, {}),
    open: journal.openCalls(tx),
    lastSeq: tx.get(lastRecord, {})?.seq ?? 0,
  }));
  const walk = new Walk(parts, head.seq, { keys, primitives });
  try {
    const covered = await checkCovered(walk, checkpoint, { keys, primitives });
    const beside =
      checkpointProblem(head, checkpoint) ??
      earliest(walk.bad, covered.bad) ??
      (await walk.finish(head, new Set(open.map(({ call }) => call)))) ??
      beyond(head, lastSeq);
    return reportOf([...covered.checks], walk.seen, beside);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return reportOf([], walk.seen, { seq: walk.seen + 1, why: error.message });
  }
}

type Covered = { readonly checks: readonly Check[]; readonly bad: Bad | null };

async function checkCovered(
  walk: Walk,
  checkpoint: CheckpointRow | undefined,
  trust: Trust,
): Promise<Covered> {
  if (checkpoint === undefined || !isJson(checkpoint.envelope)) return { checks: [], bad: null };
  const lines = coveredLines(walk, checkpoint);
  const { checks, firstBad } = await verifyJournal(lines, trust.keys, {}, trust.primitives);
  // The header was made here, just now.
  const told = checks.slice(1);
  return { checks: told, bad: firstBad === null ? firstOf(told) : { seq: firstBad.seq, why: firstBad.why } };
}

function* coveredLines(walk: Walk, checkpoint: CheckpointRow): Generator<string> {
  yield encodeExportHeader({ first: 1, frontier: [], prev: ZERO_HASH });
  yield* walk.linesUpTo(checkpoint.size);
  yield encodeExportCheckpoint(checkpoint.envelope);
}

/** A journal is signed from its first record on, and the head says up to where. */
function checkpointProblem({ seq, checkpointSeq }: Head, checkpoint: CheckpointRow | undefined): Bad | null {
  if (checkpoint === undefined)
    return seq === 0 ? null : { seq: null, why: 'the signed checkpoint is missing' };
  if (!isJson(checkpoint.envelope)) return { seq: null, why: 'the signed checkpoint is not JSON' };
  // A checkpoint of more records than there are names the first that is missing.
  if (checkpoint.size === checkpointSeq || checkpoint.size > seq) return null;
  const why = `the newest checkpoint is of ${checkpoint.size} records, the head names one of ${checkpointSeq}`;
  return { seq: null, why };
}

function beyond(head: Head, lastSeq: number): Bad | null {
  if (lastSeq <= head.seq) return null;
  return {
    seq: head.seq + 1,
    why: `the journal ends at record ${head.seq}, but there is a record ${lastSeq}`,
  };
}

/** What is wrong with a record comes before what is wrong with none, and of two records the first. */
function earliest(a: Bad | null, b: Bad | null): Bad | null {
  if (a === null || b === null) return a ?? b;
  return (b.seq ?? Number.POSITIVE_INFINITY) < (a.seq ?? Number.POSITIVE_INFINITY) ? b : a;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function firstOf(checks: readonly Check[]): Bad | null {
  const failed = checks.find(({ ok }) => !ok);
  return failed === undefined ? null : { seq: null, why: `${failed.name}: ${failed.detail}` };
}

function reportOf(checks: Check[], records: number, bad: Bad | null): LiveReport {
  const name = 'Columns, head and open calls agree with the records';
  checks.push({ name, ok: bad === null, detail: bad === null ? `${records} records` : bad.why });
  return { ok: bad === null, checks, records, firstBad: bad };
}
