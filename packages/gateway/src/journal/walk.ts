import {
  findEndingError,
  holdsReceipt,
  type JournalRecord,
  type KeyRing,
  type Primitives,
  parseRecord,
  ZERO_HASH,
} from '@palisade/sdk';
import {
  appendLeaf,
  encodeFrontier,
  type Head,
  hex,
  leafHash,
  query,
  type RecordRow,
  TILE_LEAVES,
} from './head.ts';
import { type JournalParts, recordsFrom } from './search.ts';

/** The first problem; without a number where it concerns no single record. */
export type Bad = { readonly seq: number | null; readonly why: string };

export type Trust = { readonly keys: KeyRing; readonly primitives: Primitives };

const tileAt = query<{ tile: number }>()((db, p) =>
  db.selectFrom('journal_tile').select('hash').where('tile', '=', p('tile')),
);

/**
 * One pass over all records, shared by the verifier of the sdk and the checks of what is kept beside them. The sdk
 * verifies the receipts in the lines that it gets; those in the rest are verified here.
 */
export class Walk {
  bad: Bad | null = null;
  seen = 0;
  readonly #trust: Trust;
  readonly #store: JournalParts['store'];
  readonly #rows: Generator<RecordRow>;
  readonly #lastSeq: number;
  readonly #open = new Set<string>();
  readonly #frontier: Uint8Array[] = [];
  #origin = ZERO_HASH;
  #lastHash = ZERO_HASH;

  constructor({ store, segments }: JournalParts, lastSeq: number, trust: Trust) {
    this.#trust = trust;
    this.#store = store;
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
  async finish(head: Head, open: ReadonlySet<string>): Promise<Bad | null> {
    while (this.bad === null && this.seen < this.#lastSeq) {
      const broken = await this.#follow(this.#rows.next());
      if (broken !== null) return broken;
    }
    return this.bad ?? this.#compareHead(head) ?? samePending(this.#open, open);
  }

  async #follow({ value: row, done }: IteratorResult<RecordRow>): Promise<Bad | null> {
    const seq = this.seen + 1;
    if (done === true) {
      return {
        seq,
        why: `the journal ends at record ${this.seen}, expected ${this.#lastSeq}: its tail was cut off`,
      };
    }
    const record = parseRecord(row.line);
    if (!record.ok) return { seq, why: record.detail };
    if (record.value.seq !== seq)
      return { seq, why: `the record has number ${record.value.seq}, expected ${seq}` };
    if (record.value.prev !== this.#lastHash)
      return { seq, why: 'the record does not follow the one before it' };
    this.#note(row);
    return this.bad ?? this.#endingProblem(record.value);
  }

  async #endingProblem(record: JournalRecord): Promise<Bad | null> {
    if (!holdsReceipt(record)) return null;
    const why = await findEndingError(record, this.#trust.keys, this.#trust.primitives);
    return why === null ? null : { seq: record.seq, why };
  }

  #compareHead(head: Head): Bad | null {
    if (this.#lastHash !== hex(head.hash)) {
      return { seq: head.seq, why: 'the last record is not the one that the head names' };
    }
    if (this.#origin !== hex(head.origin)) return { seq: null, why: 'the head names another first record' };
    // The next checkpoint would sign a tree that does not match the records.
    if (!encodeFrontier(this.#frontier).equals(encodeFrontier(head.frontier))) {
      return { seq: null, why: 'the head holds a tree that is not that of the records' };
    }
    return null;
  }

  #note(row: RecordRow): void {
    const hash = leafHash(row.line);
    this.#lastHash = hex(hash);
    if (this.seen === 0) this.#origin = this.#lastHash;
    const tile = appendLeaf(this.#frontier, this.seen, hash);
    this.seen += 1;
    const why = this.bad === null ? (differenceOf(row, this.#lastHash) ?? this.#tileProblem(tile)) : null;
    if (why !== null) this.bad = { seq: row.seq, why };
    this.#notePair(row);
  }

  #tileProblem(tile: Uint8Array | null): string | null {
    if (tile === null) return null;
    const stored = this.#store.get(tileAt, { tile: this.seen / TILE_LEAVES - 1 });
    if (stored !== undefined && hex(stored.hash) === hex(tile)) return null;
    return `the stored root over records ${this.seen - TILE_LEAVES + 1} to ${this.seen} is not theirs`;
  }

  #notePair({ kind, call, seq }: RecordRow): void {
    if (call === null) return;
    // A call that failed in the gateway before it could run has a fault in place of an intent.
    if (kind === 'intent' || kind === 'fault') this.#open.add(call);
    if (kind === 'ended' && !this.#open.delete(call)) {
      this.bad ??= { seq, why: `call ${call} ends without an intent` };
    }
  }
}

/** Search answers from the columns, so they must match the line. */
function differenceOf(row: RecordRow, hash: string): string | null {
  const parsed = parseRecord(row.line);
  if (!parsed.ok) return parsed.detail;
  const record = parsed.value;
  for (const column of ['seq', 'kind', 'call', 'principal', 'tool', 'tenant'] as const) {
    if (row[column] !== record[column]) return `the column "${column}" does not say what the record says`;
  }
  if (Date.parse(record.at) !== row.at_ms) return 'the column "at_ms" does not say what the record says';
  if (hex(row.hash) !== hash) return 'the stored hash is not that of the record';
  const isEnding = record.kind === 'ended' || record.kind === 'refused';
  return isEnding && !holdsReceipt(record) ? 'the record of an ending holds no receipt' : null;
}

function samePending(inRecords: ReadonlySet<string>, inTable: ReadonlySet<string>): Bad | null {
  const odd =
    [...inRecords].find((call) => !inTable.has(call)) ?? [...inTable].find((call) => !inRecords.has(call));
  return odd === undefined
    ? null
    : { seq: null, why: `call ${odd} is open in only one of the journal and its list of open calls` };
}
