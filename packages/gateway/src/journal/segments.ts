import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'libsql';
import { CodedError } from '../core/coded-error.ts';
import { isOutOfFiles, storeErrorOf } from '../store/fault-of.ts';
import type { Store } from '../store/store.ts';
import { insertInto, type Query, Statements } from '../store/transaction.ts';
import { HAS_INDEXES, query, RECORD_INDEXES, RECORD_TABLE, RENEW_INDEXES, type SegmentRow } from './head.ts';

/*
 * Old records leave the live database for sealed segment files, so that it stays small and appends stay as fast as on
 * the first day. A segment is a copy first (under a unique name, counted and flushed), then known (a row, in one
 * transaction), and only then are its records deleted from the live table, a slice at a time. A crash in between loses
 * nothing and shows nothing twice: below the last known segment, only segments are read.
 */

const FOLDER = 'journal';
/** What is moved between two turns of the event loop; calls wait for at most one slice. */
const SLICE_RECORDS = 512;
/** For a long history; the least recently read one is closed for the next. */
const MAX_OPEN_SEGMENTS = 16;
const PAGE_BYTES = 16_384;
/** A copy is named after its first record, the process that made it, and its number among that process's copies. */
const COPY = /^segment-\d{12}-(.+)-\d+\.db$/;

const listSegments = query()((db) => db.selectFrom('journal_segment').selectAll().orderBy('first'));
const insertSegment = insertInto<SegmentRow>('journal_segment', 'keep');
const deleteSlice = query<{ from: number; to: number }>()((db, p) =>
  db.deleteFrom('journal_record').where('seq', '>=', p('from')).where('seq', '<=', p('to')),
);
const firstLive = query()((db) => db.selectFrom('journal_record').select((e) => e.fn.min('seq').as('seq')));

const findIndexes: Query<Record<never, never>, object> = {
  sql: () => HAS_INDEXES.replace('sqlite_master', 'sealed.sqlite_master'),
  bind: () => [],
};

/** One source of records: the live database or a sealed file. */
export type Shelf = {
  readonly first: number;
  readonly last: number;
  readonly all: <P, R>(query: Query<P, R>, values: P) => R[];
};

type OpenSegment = { readonly db: Database.Database; readonly statements: Statements };

export class Segments {
  readonly #store: Store;
  readonly #folder: string;
  /** The least recently read first. */
  readonly #open = new Map<string, OpenSegment>();
  readonly #owner: string;
  #copies = 0;

  /** `owner` names this process, so that two processes that seal at the same time never write to the same file. */
  constructor(store: Store, owner: string) {
    this.#store = store;
    this.#owner = owner;
    this.#folder = join(store.directory, FOLDER);
  }

  /** All shelves in the order of their records; together they contain every record once. */
  shelves(): Shelf[] {
    const sealed = this.#store.all(listSegments, {});
    const shelves: Shelf[] = sealed.map((row) => ({
      first: row.first,
      last: row.last,
      all: (q, values) => this.#readSealed(row, q, values),
    }));
    const first = (sealed.at(-1)?.last ?? 0) + 1;
    const last = Number.MAX_SAFE_INTEGER;
    return [...shelves, { first, last, all: (q, values) => this.#store.all(q, values) }];
  }

  /** Moves full segments out of the live table, leaving at least one segment of records; returns the last sealed. */
  async roll(headSeq: number, segmentRecords: number): Promise<number> {
    for (;;) {
      const sealedTo = this.#store.all(listSegments, {}).at(-1)?.last ?? 0;
      await this.#deleteUpTo(sealedTo);
      if (headSeq - sealedTo < 2 * segmentRecords) return sealedTo;
      await this.#seal(sealedTo + 1, sealedTo + segmentRecords);
    }
  }

  /** Seals these records, unless another process does so at the same time. */
  async #seal(first: number, last: number): Promise<void> {
    this.#copies += 1;
    const file = `segment-${String(first).padStart(12, '0')}-${this.#owner}-${this.#copies}.db`;
    const copied = await this.#copy(first, last, file);
    const isWhole = copied === last - first + 1;
    const isOurs =
      isWhole && (await this.#store.commit((tx) => tx.run(insertSegment, { first, last, file }))) === 1;
    if (!isOurs) rmSync(join(this.#folder, file), { force: true });
    const sealedTo = this.#store.all(listSegments, {}).at(-1)?.last ?? 0;
    // Records are missing for good unless another process has sealed and deleted them.
    if (!isWhole && sealedTo < first) {
      const message = `Cannot seal records ${first} to ${last} of the journal: ${copied} are there, expected ${last - first + 1}`;
      throw new CodedError('store/corrupt', message);
    }
  }

  /** Removes copies that a crash left before they were known. */
  tidy(isGone: (owner: string) => boolean): void {
    if (!existsSync(this.#folder)) return;
    const left = readdirSync(this.#folder).filter((file) => {
      const [, owner] = COPY.exec(file) ?? [];
      return owner !== undefined && isGone(owner);
    });
    // Queried afterwards: a process that is gone can no longer make a copy known.
    const known = new Set(this.#store.all(listSegments, {}).map(({ file }) => file));
    for (const file of left) if (!known.has(file)) rmSync(join(this.#folder, file), { force: true });
  }

  close(): void {
    for (const { db } of this.#open.values()) db.close();
    this.#open.clear();
  }

  /** Returns how many records there were to copy; another process may have sealed and deleted them since. */
  async #copy(first: number, last: number, file: string): Promise<number> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, file);
    rmSync(path, { force: true });
    const db = new Database(path);
    let copied = 0;
    try {
      db.exec('PRAGMA journal_mode = OFF');
      db.exec('PRAGMA synchronous = OFF');
      // A record of the usual size leaves a third of a default page empty.
      db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
      db.exec(RECORD_TABLE);
      // Indexes grow with the slices: built at the end, they would block the gateway as long as all slices together.
      db.exec(RECORD_INDEXES);
      db.prepare('ATTACH ? AS live').run([join(this.#store.directory, 'palisade.db')]);
      const copy = db.prepare(
        'INSERT INTO main.journal_record SELECT * FROM live.journal_record WHERE seq >= ? AND seq <= ?',
      );
      for (let from = first; from <= last; from += SLICE_RECORDS) {
        copied += copy.run([from, Math.min(from + SLICE_RECORDS - 1, last)]).changes;
        await nextTurn();
      }
    } catch (error) {
      throw storeErrorOf(error, `seal a segment of the journal as "${path}"`);
    } finally {
      db.close();
    }
    chmodSync(path, 0o400);
    await flush(path);
    await flush(this.#folder);
    return copied;
  }

  async #deleteUpTo(seq: number): Promise<void> {
    for (;;) {
      const from = this.#store.get(firstLive, {})?.seq ?? null;
      if (from === null || from > seq) return;
      const to = Math.min(from + SLICE_RECORDS - 1, seq);
      await this.#store.commit((tx) => tx.run(deleteSlice, { from, to }));
      await nextTurn();
    }
  }

  #readSealed<P, R>(row: SegmentRow, q: Query<P, R>, values: P): R[] {
    const path = join(this.#folder, row.file);
    try {
      return this.#openSealed(path).statements.all(q, values);
    } catch (error) {
      const known = storeErrorOf(error, `read the journal segment "${path}"`);
      // A file that cannot be opened at the moment is not damaged.
      if (known instanceof CodedError && !isOutOfFiles(error)) {
        throw new CodedError(
          'store/corrupt',
          `Cannot read records ${row.first} to ${row.last}: ${known.message}`,
        );
      }
      throw known;
    }
  }

  #openSealed(path: string): OpenSegment {
    const known = this.#open.get(path);
    this.#open.delete(path);
    const segment = known ?? attach(path, this.#takeOldest());
    this.#open.set(path, segment);
    return segment;
  }

  /** The connection to reuse for another segment, when the maximum is reached. */
  #takeOldest(): OpenSegment | undefined {
    const [oldest] = this.#open;
    if (oldest === undefined || this.#open.size < MAX_OPEN_SEGMENTS) return undefined;
    this.#open.delete(oldest[0]);
    return oldest[1];
  }
}

/**
 * A connection that reads one segment. It is reused for one after the other, because a closed one keeps its files until
 * its statements are collected, while a detached one is closed at once.
 */
function attach(path: string, used: OpenSegment | undefined): OpenSegment {
  // SQLite would create a missing file, empty; nor does it distinguish a damaged file from too many open ones.
  closeSync(openSync(path, 'r'));
  const db = used?.db ?? new Database(':memory:');
  if (used !== undefined) db.exec('DETACH sealed');
  db.prepare('ATTACH ? AS sealed').run([path]);
  const segment = used ?? { db, statements: new Statements(db) };
  if (segment.statements.get(findIndexes, {}) === undefined) renewIndexes(path);
  return segment;
}

/** A segment that 0.1.0 has sealed is indexed as that version searched it; its records stay as they are. */
function renewIndexes(path: string): void {
  const db = new Database(path);
  try {
    db.exec('BEGIN IMMEDIATE');
    // Another process may have been faster.
    if (db.prepare(HAS_INDEXES).raw().get([]) === undefined) db.exec(RENEW_INDEXES);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

/** On another thread: flushing a whole segment takes longer than a call should wait. */
async function flush(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
