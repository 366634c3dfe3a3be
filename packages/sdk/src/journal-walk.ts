import type { Batch } from './batch-lines.ts';
import { toHex } from './bytes.ts';
import { judgeLink, type Link } from './chain.ts';
import { findEndingError, holdsReceipt } from './ending.ts';
import type { FirstBad } from './first-bad.ts';
import {
  CHECKPOINT_LINE_START,
  type ExportHeader,
  headerFrontier,
  readCheckpointLine,
  readHeader,
} from './journal-export.ts';
import type { KeyRing } from './key-ring.ts';
import { appendLeaves, type Frontier, frontierRoot } from './merkle.ts';
import type { Primitives } from './primitives.ts';
import { hashRecord, type JournalRecord, parseRecord } from './record.ts';

/** What the journal was at one size. */
export type Mark = { readonly line: number; readonly head: string; readonly root: string };

/** The keys that count and what they are checked with. */
export type Trust = { readonly keys: KeyRing; readonly primitives: Primitives };

type RecordLine = { readonly line: number; readonly text: string; readonly record: JournalRecord };

/**
 * One pass over an export. It keeps the right edge of the tree, the last two links and the final line, whatever the
 * length of the journal. A link is checked when the next one is known, to see which side of a break is false.
 */
export class JournalWalk {
  header: ExportHeader | null = null;
  /** The envelope of the final line, still to be verified. */
  checkpoint: object | null = null;
  records = 0;
  /** The last line that was read. */
  line = 0;
  /** The hash of record 1, when it is in the export. */
  origin: string | null = null;
  /** What the journal was at the size to mark, when that size was reached. */
  mark: Mark | null = null;
  /** How many records contain a receipt, and the first with a wrong one. */
  endings = 0;
  badEnding: FirstBad | null = null;
  readonly #trust: Trust;
  readonly #markSize: number | null;
  #frontier: Frontier | null = null;
  #before: Link | null = null;
  #last: Link | null = null;

  constructor(trust: Trust, markSize: number | null) {
    this.#trust = trust;
    this.#markSize = markSize;
  }

  /** The last record, or what the header says about the one before the first. */
  get last(): Link | null {
    return this.#last ?? this.#before;
  }

  /** Takes the next lines; returns the first problem. */
  async take(batch: Batch): Promise<FirstBad | null> {
    const read: RecordLine[] = [];
    const unreadable = await this.#read(batch, read);
    const hashes = await Promise.all(read.map(({ text }) => hashRecord(text, this.#primitives)));
    await this.#checkEndings(read);
    for (const [index, { line, record }] of read.entries()) {
      const hash = toHex(hashes[index] as Uint8Array);
      const broken = this.#follow({ line, seq: record.seq, prev: record.prev, hash });
      if (broken !== null) return broken;
    }
    await this.#grow(read, hashes);
    return unreadable === null ? null : (this.judgeLast(null) ?? unreadable);
  }

  /** Checks the last record against the hash that is signed for it, if there is one. */
  judgeLast(head: string | null): FirstBad | null {
    return this.#before === null || this.#last === null ? null : judgeLink(this.#before, this.#last, head);
  }

  async root(): Promise<string | null> {
    const root = this.#frontier === null ? null : await frontierRoot(this.#frontier, this.#primitives);
    return root === null ? null : toHex(root);
  }

  get #primitives(): Primitives {
    return this.#trust.primitives;
  }

  /** The receipts of a batch are verified side by side; after a bad one the rest is skipped. */
  async #checkEndings(read: readonly RecordLine[]): Promise<void> {
    if (this.badEnding !== null) return;
    const { keys, primitives } = this.#trust;
    const endings = read.filter(({ record }) => holdsReceipt(record));
    const errors = await Promise.all(endings.map(({ record }) => findEndingError(record, keys, primitives)));
    this.endings += endings.length;
    for (const [index, { line, record }] of endings.entries()) {
      const why = errors[index] ?? null;
      if (why !== null) this.badEnding ??= { line, seq: record.seq, why };
    }
  }

  /** Reads records until the end of the batch or the first line that does not belong there. */
  async #read(batch: Batch, read: RecordLine[]): Promise<FirstBad | null> {
    for (const [index, text] of batch.lines.entries()) {
      this.line = batch.from + index;
      const seq = text.startsWith(CHECKPOINT_LINE_START) ? null : this.#nextSeq(read.length);
      const why = await this.#readLine(text, read);
      if (why !== null) return { line: this.line, seq, why };
    }
    const { malformed } = batch;
    if (malformed === null) return null;
    return { line: malformed.line, seq: this.#nextSeq(read.length), why: malformed.message };
  }

  /** Handles one line by its kind; returns why it is invalid. */
  async #readLine(text: string, read: RecordLine[]): Promise<string | null> {
    if (this.checkpoint !== null) return 'the line follows the final checkpoint, expected no more';
    if (this.header === null) {
      const header = readHeader(text);
      if (!header.ok) return header.detail;
      await this.#start(header.value);
    } else if (text.startsWith(CHECKPOINT_LINE_START)) {
      const envelope = readCheckpointLine(text);
      if (!envelope.ok) return envelope.detail;
      this.checkpoint = envelope.value;
    } else {
      const record = parseRecord(text);
      if (!record.ok) return record.detail;
      read.push({ line: this.line, text, record: record.value });
    }
    return null;
  }

  #nextSeq(waiting: number): number | null {
    const last = this.last;
    return last === null || this.checkpoint !== null ? null : last.seq + waiting + 1;
  }

  async #start(header: ExportHeader): Promise<void> {
    this.header = header;
    this.#frontier = headerFrontier(header);
    this.#before = { line: 1, seq: header.first - 1, prev: '', hash: header.prev };
    if (this.#frontier.size === this.#markSize) await this.#setMark(1, header.prev);
  }

  #follow(next: Link): FirstBad | null {
    const broken = this.judgeLast(next.prev);
    if (broken !== null) return broken;
    this.#before = this.#last ?? this.#before;
    this.#last = next;
    this.records += 1;
    if (next.seq === 1) this.origin = next.hash;
    return null;
  }

  async #grow(read: readonly RecordLine[], hashes: readonly Uint8Array[]): Promise<void> {
    if (this.#frontier === null) return;
    const toMark = this.#markSize === null ? 0 : this.#markSize - this.#frontier.size;
    const marked = read[toMark - 1];
    const head = hashes[toMark - 1];
    if (marked === undefined || head === undefined) {
      this.#frontier = await appendLeaves(this.#frontier, hashes, this.#primitives);
      return;
    }
    this.#frontier = await appendLeaves(this.#frontier, hashes.slice(0, toMark), this.#primitives);
    await this.#setMark(marked.line, toHex(head));
    this.#frontier = await appendLeaves(this.#frontier, hashes.slice(toMark), this.#primitives);
  }

  async #setMark(line: number, head: string): Promise<void> {
    this.mark = { line, head, root: (await this.root()) ?? '' };
  }
}
