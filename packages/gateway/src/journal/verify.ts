import {
  type Check,
  encodeExportCheckpoint,
  encodeExportHeader,
  type KeyRing,
  type Primitives,
  parseRecord,
  verifyJournal,
  ZERO_HASH,
} from '@palisade/sdk';
import { CodedError } from '../core/coded-error.ts';
import type { JournalParts } from './export.ts';
import { leafHash } from './frontier.ts';
import { type Head, readHead } from './head.ts';
import { recordsFrom } from './search.ts';
import { query, type RecordRow } from './tables.ts';

/*
 * Verifies the journal as it lies in the state directory: the records up to the last signed checkpoint by the verifier
 * of the sdk, the few after it by the chain, and then what stands beside the records: the columns that are searched, the
 * head, and the list of open calls. The first bad record is named; a cut-off tail shows against the checkpoint.
 */

export type LiveReport = {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly records: number;
  readonly firstBad: { readonly seq: number | null; readonly why: string } | null;
};

type Bad = { readonly seq: number | null; readonly why: string };

const newestCheckpoint = query()((db) =>
  db.selectFrom('journal_checkpoint').selectAll().orderBy('size', 'desc').limit(1),
);

export async function verifyLive(
  parts: JournalParts,
  keys: KeyRing,
  primitives: Primitives,
): Promise<LiveReport> {
  const { store, journal } = parts;
  const { head, checkpoint, open } = store.transact((tx) => ({
    head: readHead(tx),
    checkpoint: tx.get(newestCheckpoint, {}),
    open: journal.openCalls(tx),
  }));
  const walk = new Walk(parts, head.seq);
  try {
    const checks = await checkCovered(walk, checkpoint, { keys, primitives });
    const bad = walk.bad ?? firstOf(checks) ?? walk.finish(head, new Set(open.map(({ call }) => call)));
    return reportOf([...checks], walk.seen, bad);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return reportOf([], walk.seen, { seq: walk.seen + 1, why: error.message });
  }
}

type Trust = { readonly keys: KeyRing; readonly primitives: Primitives };

async function checkCovered(
  walk: Walk,
  checkpoint: { size: number; envelope: string } | undefined,
  trust: Trust,
) {
  if (checkpoint === undefined) return [];
  const lines = coveredLines(walk, checkpoint);
  const report = await verifyJournal(lines, trust.keys, {}, trust.primitives);
  const seq = report.firstBad?.seq ?? null;
  if (walk.bad === null && report.firstBad !== null) walk.bad = { seq, why: report.firstBad.why };
  // The header was made here, just now.
  return report.checks.slice(1);
}

function* coveredLines(walk: Walk, checkpoint: { size: number; envelope: string }): Generator<string> {
  yield encodeExportHeader({ first: 1, frontier: [], prev: ZERO_HASH });
  yield* walk.linesUpTo(checkpoint.size);
  yield encodeExportCheckpoint(checkpoint.envelope);
}

/** One pass over all records, shared by the verifier of the sdk and the checks of what stands beside them. */
class Walk {
  bad: Bad | null = null;
  seen = 0;
  readonly #rows: Generator<RecordRow>;
  readonly #lastSeq: number;
  readonly #open = new Set<string>();
  #lastHash = ZERO_HASH;

  constructor({ segments }: JournalParts, lastSeq: number) {
    this.#rows = recordsFrom(segments, 1);
    this.#lastSeq = lastSeq;
  }

  *linesUpTo(size: number): Generator<string> {
    while (this.seen < Math.min(size, this.#lastSeq)) {
      const { value: row, done } = this.#rows.next();
      if (done === true) return;
      this.#note(row);
      yield row.line;
    }
  }

  /** The rest of the chain, then the head and the open calls. */
  finish(head: Head, open: ReadonlySet<string>): Bad | null {
    for (let prev = this.#lastHash; this.seen < this.#lastSeq; prev = this.#lastHash) {
      const { value: row, done } = this.#rows.next();
      const seq = this.seen + 1;
      if (done === true)
        return {
          seq,
          why: `the journal ends at record ${this.seen}, expected ${head.seq}: its tail was cut off`,
        };
      const record = parseRecord(row.line);
      if (!record.ok) return { seq, why: record.detail };
      if (record.value.seq !== seq)
        return { seq, why: `the record has number ${record.value.seq}, expected ${seq}` };
      if (record.value.prev !== prev) return { seq, why: 'the record does not follow the one before it' };
      this.#note(row);
    }
    if (this.bad !== null) return this.bad;
    if (this.#lastHash !== Buffer.from(head.hash).toString('hex') && head.seq > 0) {
      return { seq: head.seq, why: 'the last record is not the one that the head names' };
    }
    return samePending(this.#open, open);
  }

  #note(row: RecordRow): void {
    this.seen += 1;
    this.#lastHash = leafHash(row.line).toString('hex');
    const why = this.bad === null ? differenceOf(row, this.#lastHash) : null;
    if (why !== null) this.bad = { seq: row.seq, why };
    if (row.kind === 'intent' && row.call !== null) this.#open.add(row.call);
    if (row.kind === 'ended' && row.call !== null && !this.#open.delete(row.call)) {
      this.bad ??= { seq: row.seq, why: `call ${row.call} ends without an intent` };
    }
  }
}

/** The columns are what search answers from; they must say what the line says. */
function differenceOf(row: RecordRow, hash: string): string | null {
  const parsed = parseRecord(row.line);
  if (!parsed.ok) return parsed.detail;
  const record = parsed.value;
  for (const column of ['seq', 'kind', 'call', 'principal', 'tool', 'tenant'] as const) {
    if (row[column] !== record[column]) return `the column "${column}" does not say what the record says`;
  }
  if (Date.parse(record.at) !== row.at_ms) return 'the column "at_ms" does not say what the record says';
  return Buffer.from(row.hash).toString('hex') === hash ? null : 'the stored hash is not that of the record';
}

function samePending(inRecords: ReadonlySet<string>, inTable: ReadonlySet<string>): Bad | null {
  const odd =
    [...inRecords].find((call) => !inTable.has(call)) ?? [...inTable].find((call) => !inRecords.has(call));
  return odd === undefined
    ? null
    : { seq: null, why: `call ${odd} is open in only one of the journal and its list of open calls` };
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
