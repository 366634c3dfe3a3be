import { canonicalize } from '@palisade/sdk';
import type { Signer } from '../attest/keys.ts';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Json } from '../core/json.ts';
import { insertInto, type Reader, type Transaction } from '../store/transaction.ts';
import {
  appendLeaf,
  type Head,
  hex,
  type JournalTables,
  leafHash,
  query,
  type RecordRow,
  readHead,
  TILE_LEAVES,
  writeCheckpoint,
  writeHead,
} from './head.ts';
import type { Segments } from './segments.ts';

/*
 * The journal: what was requested, decided and done, in one chain without gaps. Modules submit drafts inside a
 * transaction; the journal assigns each its number, its time and the hash of the record before it. The time of a record
 * is never before that of its predecessor: order comes from the number, not from the clock. Secrets in use are removed
 * by their values before anything is hashed. A record contains digests of inputs and outputs, never the bytes.
 *
 * What it defends: any change to a record, and any missing, added or moved record, breaks the chain; a missing tail
 * breaks the signed checkpoint. What it cannot: an attacker with the state directory has the signing key too. A
 * checkpoint or receipt kept elsewhere is the anchor against that.
 */

export type Draft = {
  readonly kind: string;
  readonly call?: string | null;
  readonly principal?: string | null;
  readonly tool?: string | null;
  readonly tenant?: string | null;
  readonly body: { readonly [key: string]: Json };
  /**
   * Consists of checked names, digests, numbers and signed data, and nothing that a caller, a tool or an operator
   * wrote: it contains no secret, and must be recorded exactly. Anything else is redacted.
   */
  readonly isPlain?: boolean;
  /** An intent stays open, under the name of its process, until the record that closes it. */
  readonly opens?: string;
  readonly closes?: boolean;
};

type Position = {
  readonly seq: number;
  readonly prev: string;
  readonly at: string;
  readonly atMs: number;
};

export type JournalOptions = {
  readonly signer: Signer;
  readonly nowMs: () => number;
  readonly redact: (value: Json) => Json;
  readonly checkpointEveryRecords: number;
  readonly checkpointAfterMs: number;
  readonly maxBehindMs: number;
  /** Called with the newest record right before a transaction is committed. */
  readonly onGrown?: (seq: number) => void;
};

/** For one line; half of what a verifier reads, so that no record can ever make the journal unverifiable. */
export const MAX_LINE_BYTES = 512 * 1024;

export type OpenCall = JournalTables['journal_open'];

const insertRecord = insertInto<RecordRow>('journal_record');
const insertTile = insertInto<JournalTables['journal_tile']>('journal_tile');
const insertOpen = insertInto<OpenCall>('journal_open');
const deleteOpen = query<{ call: string | null }>()((db, p) =>
  db.deleteFrom('journal_open').where('call', '=', p('call')),
);
const selectOpen = query()((db) => db.selectFrom('journal_open').selectAll().orderBy('seq'));

export class Journal {
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** Adds a record to the chain inside this transaction; durable and visible when the transaction is. */
  append(tx: Transaction, draftAt: Draft | ((position: Position) => Draft)): Position {
    const head = tx.once(this, () => this.#enter(tx));
    const position = this.#positionAfter(head);
    const draft = typeof draftAt === 'function' ? draftAt(position) : draftAt;
    const { kind, call = null, principal = null, tool = null, tenant = null } = draft;
    const body = draft.isPlain === true ? draft.body : this.#options.redact(draft.body);
    const { seq, prev, at, atMs } = position;
    const line = canonicalize({ at, body, call, kind, prev, principal, seq, tenant, tool, v: 1 });
    // Boundary: a line that verifiers refuse to read would invalidate every record after it.
    if (Buffer.byteLength(line) > MAX_LINE_BYTES) {
      throw new TypeError(`Cannot record "${kind}": the line has over ${MAX_LINE_BYTES} bytes`);
    }
    const hash = leafHash(line);
    tx.run(insertRecord, { seq, at_ms: atMs, kind, call, principal, tool, tenant, line, hash });
    const tile = appendLeaf(head.frontier, head.seq, hash);
    if (tile !== null) tx.run(insertTile, { tile: seq / TILE_LEAVES - 1, hash: tile });
    if (draft.opens !== undefined && call !== null) tx.run(insertOpen, { call, owner: draft.opens, seq });
    // Boundary: an ending is recorded once; a second one, after a spurious error, fails its transaction.
    if (draft.closes === true && tx.run(deleteOpen, { call }) !== 1) {
      throw new TypeError(`Cannot record the ending of call ${call}: it is not open`);
    }
    if (seq === 1) head.origin = hash;
    head.seq = seq;
    head.hash = hash;
    head.atMs = atMs;
    return position;
  }

  /** Signs the current journal, regardless of the schedule. */
  checkpoint(tx: Transaction): { readonly head: Head; readonly envelope: string } {
    const head = tx.once(this, () => this.#enter(tx));
    if (head.seq === 0) throw new TypeError('Cannot sign checkpoint: the journal is empty');
    return { head, envelope: writeCheckpoint(tx, head, this.#options.signer) };
  }

  /** Starts again from the current clock, and records that in the chain. */
  acceptClock(tx: Transaction, principal: string): Position {
    const head = tx.once(this, () => this.#enter(tx));
    const before = isoTime(head.atMs);
    head.atMs = Math.min(head.atMs, this.#options.nowMs());
    // Otherwise no checkpoint would be due until the clock has caught up.
    head.checkpointAtMs = Math.min(head.checkpointAtMs, head.atMs);
    return this.append(tx, { kind: 'clock-accepted', principal, body: { before } });
  }

  /** True when records were written since the last checkpoint. */
  isUncovered(reader: Reader): boolean {
    const { seq, checkpointSeq } = readHead(reader);
    return seq > checkpointSeq;
  }

  /** Intents that no record has closed yet, of all processes. */
  openCalls(reader: Reader): OpenCall[] {
    return reader.all(selectOpen, {});
  }

  #enter(tx: Transaction): Head {
    const head = readHead(tx);
    tx.beforeCommit(() => {
      if (this.#isCheckpointDue(head)) writeCheckpoint(tx, head, this.#options.signer);
      writeHead(tx, head);
      this.#options.onGrown?.(head.seq);
    });
    return head;
  }

  #isCheckpointDue(head: Head): boolean {
    const { checkpointEveryRecords, checkpointAfterMs } = this.#options;
    if (head.seq === head.checkpointSeq) return false;
    return (
      head.seq - head.checkpointSeq >= checkpointEveryRecords ||
      head.atMs - head.checkpointAtMs >= checkpointAfterMs
    );
  }

  #positionAfter(head: Head): Position {
    const nowMs = this.#options.nowMs();
    // Boundary: with the clock set back, expired windows and approvals would become valid again.
    if (nowMs < head.atMs - this.#options.maxBehindMs) {
      const [clock, last] = [isoTime(nowMs), isoTime(head.atMs)];
      throw new CodedError(
        'store/clock-behind',
        `Cannot record the call: the clock says ${clock}, the last record is of ${last}`,
      );
    }
    const atMs = Math.max(nowMs, head.atMs);
    return { seq: head.seq + 1, prev: hex(head.hash), at: isoTime(atMs), atMs };
  }
}

/*
 * Seals full segments while the gateway runs, so that one that is never stopped keeps its live table as small as one
 * that starts for each call. It is called whenever the journal grows, in the middle of a transaction, and only takes
 * note there; the sealing happens in later turns of the event loop, a slice at a time, and never concurrently.
 */

export class Roller {
  readonly #segments: Pick<Segments, 'roll'>;
  readonly #segmentRecords: number;
  #rolling: Promise<void> | null = null;
  #headSeq = 0;
  /** Below this head there is nothing to seal. */
  #dueAt = 0;

  constructor(segments: Pick<Segments, 'roll'>, segmentRecords: number) {
    this.#segments = segments;
    this.#segmentRecords = segmentRecords;
  }

  /** Takes note that the journal has grown to this record, or is about to. */
  note(headSeq: number): void {
    this.#headSeq = headSeq;
    if (headSeq < this.#dueAt || this.#rolling !== null) return;
    this.#rolling = this.#rollWhileDue()
      // What cannot be sealed now is tried again later, and at the end, where its error is reported.
      .catch(() => undefined)
      .finally(() => {
        this.#rolling = null;
      });
  }

  async idle(): Promise<void> {
    while (this.#rolling !== null) await this.#rolling;
  }

  /** Seals what is full at the end of a process. */
  async finish(headSeq: number): Promise<void> {
    await this.idle();
    await this.#roll(headSeq);
  }

  async #rollWhileDue(): Promise<void> {
    do {
      // Not before the transaction that called us is over.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#roll(this.#headSeq);
    } while (this.#headSeq >= this.#dueAt);
  }

  async #roll(headSeq: number): Promise<void> {
    // Where sealing fails, it is not tried again with every record.
    this.#dueAt = headSeq + this.#segmentRecords;
    const sealedTo = await this.#segments.roll(headSeq, this.#segmentRecords);
    this.#dueAt = sealedTo + 2 * this.#segmentRecords;
  }
}
