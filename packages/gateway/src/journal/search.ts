import { encodeExportCheckpoint, encodeExportHeader, encodeProof, ZERO_HASH } from '@palisade/sdk';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { CodedError } from '../core/coded-error.ts';
import type { Store } from '../store/store.ts';
import { builder, type Query } from '../store/transaction.ts';
import { hex, type JournalTables, query, type RecordRow } from './head.ts';
import type { Journal } from './journal.ts';
import type { Segments, Shelf } from './segments.ts';
import { Tree } from './verify.ts';

/** The search terms; all that are set must match. */
export type Wanted = {
  readonly kind?: string;
  readonly principal?: string;
  readonly tool?: string;
  readonly call?: string;
  readonly fromMs?: number;
  readonly toMs?: number;
  /** For one of these tenants; null: for none, but for the gateway itself. */
  readonly tenants?: readonly (string | null)[];
};

type Page = {
  readonly records: readonly RecordRow[];
  /** Pass it back to continue where this page ended; null at the end of history. */
  readonly cursor: number | null;
};

type PageOptions = {
  readonly newestFirst: boolean;
  readonly limit: number;
  readonly cursor: number | null;
};

const db = builder<JournalTables>();

const byRange = query<{ from: number; to: number }>()((kysely, p) =>
  kysely
    .selectFrom('journal_record')
    .selectAll()
    .where('seq', '>=', p('from'))
    .where('seq', '<=', p('to'))
    .orderBy('seq'),
);

/** A page of the matching records, over all of history, by cursor. */
export function search(segments: Segments, wanted: Wanted, options: PageOptions): Page {
  for (;;) {
    const shelves = segments.shelves();
    const page = searchOn(shelves, wanted, options);
    // Records that another process sealed since then were found in neither place.
    if (segments.shelves().length === shelves.length) return page;
  }
}

function searchOn(shelves: readonly Shelf[], wanted: Wanted, options: PageOptions): Page {
  const { newestFirst, limit } = options;
  let cursor = options.cursor ?? (newestFirst ? Number.MAX_SAFE_INTEGER : 0);
  const records: RecordRow[] = [];
  for (const shelf of newestFirst ? [...shelves].reverse() : shelves) {
    if (newestFirst ? shelf.first >= cursor : shelf.last <= cursor) continue;
    const span = { newestFirst, cursor, first: shelf.first, limit: limit - records.length };
    const found = shelf.all(pageQuery(wanted, span), {});
    records.push(...found);
    cursor = found.at(-1)?.seq ?? cursor;
    if (records.length === limit) return { records, cursor };
  }
  return { records, cursor: null };
}

export function recordAt(segments: Segments, seq: number): RecordRow | undefined {
  for (;;) {
    const shelves = segments.shelves();
    const [row] =
      shelves.find(({ first, last }) => first <= seq && seq <= last)?.all(byRange, { from: seq, to: seq }) ??
      [];
    if (row !== undefined || segments.shelves().length === shelves.length) return row;
  }
}

/** Every record from `from` on, in order, read a page at a time; other processes may seal records in the meantime. */
export function* recordsFrom(segments: Segments, from: number, pageRecords = 1024): Generator<RecordRow> {
  const shelfOf = (seq: number) => segments.shelves().find(({ last }) => seq <= last);
  for (let next = from; ; ) {
    const shelf = shelfOf(next);
    if (shelf === undefined) return;
    const to = Math.min(shelf.last, next + pageRecords - 1);
    const page = shelf.all(byRange, { from: next, to });
    // What is missing may have been sealed since the shelves were listed; then it is looked up again.
    if (page[0]?.seq !== next && shelfOf(next)?.last !== shelf.last) continue;
    if (page.length === 0) return;
    yield* page;
    next = (page.at(-1)?.seq ?? next) + 1;
  }
}

type Span = { newestFirst: boolean; cursor: number; first: number; limit: number };

function pageQuery(wanted: Wanted, span: Span): Query<Record<never, never>, RecordRow> {
  // SQLite would prefer to scan the wide records themselves, because they are in order as well.
  const source = wanted.call === undefined ? sql`journal_record_search` : sql`journal_record_call`;
  const order = span.newestFirst ? sql`desc` : sql`asc`;
  const { sql: text, parameters } = sql<RecordRow>`
    select * from journal_record where seq in (
      select seq from journal_record indexed by ${source}
      where ${sql.join(termsOf(wanted, span), sql` and `)} order by seq ${order} limit ${span.limit}
    ) order by seq ${order}`.compile(db);
  return { sql: () => text, bind: () => parameters };
}

function termsOf(wanted: Wanted, span: Span): RawBuilder<SqlBool>[] {
  const beyond = span.newestFirst ? sql<SqlBool>`seq < ${span.cursor}` : sql<SqlBool>`seq > ${span.cursor}`;
  const terms = [sql<SqlBool>`seq >= ${span.first}`, beyond];
  for (const column of ['kind', 'principal', 'tool', 'call'] as const) {
    const value = wanted[column];
    if (value !== undefined) terms.push(sql<SqlBool>`${sql.ref(column)} = ${value}`);
  }
  if (wanted.fromMs !== undefined) terms.push(sql<SqlBool>`at_ms >= ${wanted.fromMs}`);
  if (wanted.toMs !== undefined) terms.push(sql<SqlBool>`at_ms <= ${wanted.toMs}`);
  const { tenants } = wanted;
  if (tenants !== undefined) {
    const each = tenants.map((name) => sql<SqlBool>`tenant is ${name}`);
    // An empty list matches nothing.
    terms.push(sql<SqlBool>`(${sql.join([sql<SqlBool>`0`, ...each], sql` or `)})`);
  }
  return terms;
}

export type JournalParts = { readonly store: Store; readonly journal: Journal; readonly segments: Segments };

/** The lines of an export that anyone can verify: the records from `first` on, then a checkpoint signed just now. */
export function* exportLines({ store, journal, segments }: JournalParts, first: number): Generator<string> {
  const { head, envelope } = store.transact((tx) => journal.checkpoint(tx));
  if (first < 1 || first > head.seq) {
    throw new CodedError(
      'journal/unknown-record',
      `Cannot export from record ${first}: the journal has 1 to ${head.seq}`,
    );
  }
  const before = first === 1 ? undefined : recordAt(segments, first - 1);
  yield encodeExportHeader({
    first,
    frontier: new Tree(store, segments).frontier(first - 1).map(hex),
    prev: before === undefined ? ZERO_HASH : hex(before.hash),
  });
  for (const { seq, line } of recordsFrom(segments, first)) {
    if (seq > head.seq) break;
    yield line;
  }
  yield encodeExportCheckpoint(envelope);
}

/** A proof that record `seq` is in the journal of a checkpoint signed just now. */
export function proveRecord({ store, journal, segments }: JournalParts, seq: number): string {
  const record = recordAt(segments, seq);
  if (record === undefined)
    throw new CodedError('journal/unknown-record', `Cannot prove record ${seq}: it does not exist`);
  const { head, envelope } = store.transact((tx) => journal.checkpoint(tx));
  const path = new Tree(store, segments).path(seq - 1, head.seq).map(hex);
  return encodeProof({ checkpoint: envelope, path, record: record.line });
}
