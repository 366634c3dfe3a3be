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
import { orElse } from '../core/result.ts';
import type { Store } from '../store/store.ts';
import { type CheckpointRow, type Head, nodeHash, query, readHead, TILE_LEAVES } from './head.ts';
import type { JournalParts } from './search.ts';
import type { Segments } from './segments.ts';
import { type Bad, type Trust, Walk } from './walk.ts';

/*
 * Verifies the journal in the state directory: the records up to the last signed checkpoint by the verifier of the sdk,
 * the few after it by the chain and their receipts, and then what is kept beside the records: the search columns, the
 * stored parts of the tree, the head, and the list of open calls. The first bad record is named; a cut-off tail is
 * detected by the checkpoint.
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

/** A journal is signed from its first record on, and the head says how far. */
function checkpointProblem({ seq, checkpointSeq }: Head, checkpoint: CheckpointRow | undefined): Bad | null {
  if (checkpoint === undefined)
    return seq === 0 ? null : { seq: null, why: 'the signed checkpoint is missing' };
  if (!isJson(checkpoint.envelope)) return { seq: null, why: 'the signed checkpoint is not JSON' };
  // A checkpoint of more records than exist names the first missing one.
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

/** A problem of a record comes before one that concerns no record, and of two records the first. */
function earliest(a: Bad | null, b: Bad | null): Bad | null {
  if (a === null || b === null) return a ?? b;
  return (b.seq ?? Number.POSITIVE_INFINITY) < (a.seq ?? Number.POSITIVE_INFINITY) ? b : a;
}

function isJson(text: string): boolean {
  return orElse(() => JSON.parse(text) !== undefined, false);
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

/*
 * Reads the Merkle tree of the journal from what is stored: leaves from the records, complete subtrees of 256 leaves
 * from the tiles. A proof in a journal of a million records reads some hundred leaves and four thousand tiles.
 */

const tilesIn = query<{ from: number; to: number }>()((db, p) =>
  db
    .selectFrom('journal_tile')
    .selectAll()
    .where('tile', '>=', p('from'))
    .where('tile', '<', p('to'))
    .orderBy('tile'),
);
const leavesIn = query<{ from: number; to: number }>()((db, p) =>
  db
    .selectFrom('journal_record')
    .select(['seq', 'hash'])
    .where('seq', '>=', p('from'))
    .where('seq', '<=', p('to'))
    .orderBy('seq'),
);

export class Tree {
  readonly #store: Store;
  readonly #segments: Segments;

  constructor(store: Store, segments: Segments) {
    this.#store = store;
    this.#segments = segments;
  }

  /** The hashes that, with the leaf at `index`, make the root of the tree of `size` leaves; nearest first. */
  path(index: number, size: number): Uint8Array[] {
    const path: Uint8Array[] = [];
    let [start, count] = [0, size];
    while (count > 1) {
      const left = largestPowerBelow(count);
      if (index < start + left) {
        path.unshift(this.root(start + left, count - left));
        count = left;
      } else {
        path.unshift(this.root(start, left));
        [start, count] = [start + left, count - left];
      }
    }
    return path;
  }

  /** The roots of the complete subtrees of the first `size` leaves, largest first. */
  frontier(size: number): Uint8Array[] {
    const hashes: Uint8Array[] = [];
    for (let start = 0, left = size; left > 0; ) {
      const count = 2 ** Math.floor(Math.log2(left));
      hashes.push(this.root(start, count));
      start += count;
      left -= count;
    }
    return hashes;
  }

  root(start: number, count: number): Uint8Array {
    if (count >= TILE_LEAVES && start % TILE_LEAVES === 0) {
      const whole = count - (count % TILE_LEAVES);
      const tiles = this.#tiles(start / TILE_LEAVES, (start + whole) / TILE_LEAVES);
      return fold(count === whole ? tiles : [...tiles, this.root(start + whole, count - whole)]);
    }
    return fold(this.#leaves(start, count));
  }

  #tiles(from: number, to: number): Uint8Array[] {
    return complete(
      this.#store.all(tilesIn, { from, to }).map(({ hash }) => hash),
      to - from,
      'tiles',
    );
  }

  #leaves(start: number, count: number): Uint8Array[] {
    const [from, to] = [start + 1, start + count];
    const found = this.#segments
      .shelves()
      .filter((shelf) => shelf.first <= to && from <= shelf.last)
      .flatMap((shelf) =>
        shelf.all(leavesIn, { from: Math.max(from, shelf.first), to: Math.min(to, shelf.last) }),
      );
    return complete(
      found.map(({ hash }) => hash),
      count,
      'records',
    );
  }
}

/** RFC 6962 over any number of equal subtrees (the last may be smaller): split at the largest power of two below. */
function fold(hashes: readonly Uint8Array[]): Uint8Array {
  const [only] = hashes;
  if (only === undefined) throw new TypeError('Cannot fold a tree of no leaves');
  if (hashes.length === 1) return only;
  const left = largestPowerBelow(hashes.length);
  return nodeHash(fold(hashes.slice(0, left)), fold(hashes.slice(left)));
}

function largestPowerBelow(count: number): number {
  return 2 ** Math.ceil(Math.log2(count) - 1);
}

function complete(hashes: Uint8Array[], expected: number, what: string): Uint8Array[] {
  if (hashes.length === expected) return hashes;
  const message = `Cannot read the tree of the journal: ${hashes.length} ${what} are there, expected ${expected}`;
  throw new CodedError('store/corrupt', message);
}
