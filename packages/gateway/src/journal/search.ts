import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { builder, type Query } from '../store/query.ts';
import type { Segments } from './segments.ts';
import { type JournalTables, query, type RecordRow } from './tables.ts';

/** What to look for; every given term must hold. */
export type Wanted = {
  readonly kind?: string;
  readonly principal?: string;
  readonly tool?: string;
  readonly call?: string;
  readonly fromMs?: number;
  readonly toMs?: number;
};

export type Page = {
  readonly records: readonly RecordRow[];
  /** Give it back to go on where this page ended; null at the end of history. */
  readonly cursor: number | null;
};

export type PageOptions = {
  readonly newestFirst: boolean;
  readonly limit: number;
  /** The number of the last record of the page before. */
  readonly cursor: number | null;
};

const db = builder<JournalTables>();

const bySeq = query<{ seq: number }>()((kysely, p) =>
  kysely.selectFrom('journal_record').selectAll().where('seq', '=', p('seq')),
);
const byRange = query<{ from: number; to: number }>()((kysely, p) =>
  kysely
    .selectFrom('journal_record')
    .selectAll()
    .where('seq', '>=', p('from'))
    .where('seq', '<=', p('to'))
    .orderBy('seq'),
);

/** A page of the records that fit, over all of history, by cursor. */
export function search(segments: Segments, wanted: Wanted, options: PageOptions): Page {
  const { newestFirst, limit } = options;
  const shelves = segments.shelves();
  if (newestFirst) shelves.reverse();
  let cursor = options.cursor ?? (newestFirst ? Number.MAX_SAFE_INTEGER : 0);
  const records: RecordRow[] = [];
  for (const shelf of shelves) {
    if (newestFirst ? shelf.first >= cursor : shelf.last <= cursor) continue;
    const found = shelf.all(
      pageQuery(wanted, { newestFirst, cursor, first: shelf.first, limit: limit - records.length }),
      {},
    );
    records.push(...found);
    cursor = found.at(-1)?.seq ?? cursor;
    if (records.length === limit) return { records, cursor };
  }
  return { records, cursor: null };
}

/** One record by its number. */
export function recordAt(segments: Segments, seq: number): RecordRow | undefined {
  const shelf = segments.shelves().find(({ first, last }) => first <= seq && seq <= last);
  return shelf?.all(bySeq, { seq })[0];
}

/** Every record from `from` on, in order, read a page at a time; records may be sealed by others meanwhile. */
export function* recordsFrom(segments: Segments, from: number, pageRecords = 1024): Generator<RecordRow> {
  const shelfOf = (seq: number) => segments.shelves().find(({ last }) => seq <= last);
  for (let next = from; ; ) {
    const shelf = shelfOf(next);
    if (shelf === undefined) return;
    const to = Math.min(shelf.last, next + pageRecords - 1);
    const page = shelf.all(byRange, { from: next, to });
    // What is missing may have been sealed since the shelves were looked up; then it is looked for once more.
    if (page[0]?.seq !== next && shelfOf(next)?.last !== shelf.last) continue;
    if (page.length === 0) return;
    yield* page;
    next = (page.at(-1)?.seq ?? next) + 1;
  }
}

type Span = { newestFirst: boolean; cursor: number; first: number; limit: number };

function pageQuery(wanted: Wanted, span: Span): Query<Record<never, never>, RecordRow> {
  const { sql, parameters } = db
    .selectFrom('journal_record')
    .selectAll()
    .where((e) => e.and(termsOf(e, wanted, span)))
    .orderBy('seq', span.newestFirst ? 'desc' : 'asc')
    .limit(span.limit)
    .compile();
  return { sql: () => sql, bind: () => parameters };
}

function termsOf(
  e: ExpressionBuilder<JournalTables, 'journal_record'>,
  wanted: Wanted,
  span: Span,
): Expression<SqlBool>[] {
  const terms: Expression<SqlBool>[] = [
    e('seq', '>=', span.first),
    e('seq', span.newestFirst ? '<' : '>', span.cursor),
  ];
  for (const column of ['kind', 'principal', 'tool', 'call'] as const) {
    const value = wanted[column];
    if (value !== undefined) terms.push(e(column, '=', value));
  }
  if (wanted.fromMs !== undefined) terms.push(e('at_ms', '>=', wanted.fromMs));
  if (wanted.toMs !== undefined) terms.push(e('at_ms', '<=', wanted.toMs));
  return terms;
}
