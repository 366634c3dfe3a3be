import type { Migration } from '../store/migrate.ts';
import { queries } from '../store/query.ts';

export type RecordRow = {
  readonly seq: number;
  readonly at_ms: number;
  readonly kind: string;
  readonly call: string | null;
  readonly principal: string | null;
  readonly tool: string | null;
  readonly tenant: string | null;
  /** The record itself; the columns beside it are copies to search by, held to it by `verify`. */
  readonly line: string;
  readonly hash: Uint8Array;
};

export type HeadRow = {
  readonly id: number;
  readonly seq: number;
  readonly hash: Uint8Array;
  readonly origin: Uint8Array;
  readonly frontier: Uint8Array;
  readonly at_ms: number;
  readonly checkpoint_seq: number;
  readonly checkpoint_at_ms: number;
};

export type SegmentRow = { readonly first: number; readonly last: number; readonly file: string };
export type CheckpointRow = { readonly size: number; readonly envelope: string };

export type JournalTables = {
  journal_record: RecordRow;
  journal_head: HeadRow;
  journal_tile: { readonly tile: number; readonly hash: Uint8Array };
  journal_checkpoint: CheckpointRow;
  journal_open: { readonly call: string; readonly owner: string; readonly seq: number };
  journal_segment: SegmentRow;
};

/** The table of records and what it is searched by; the same in the live database and in every sealed segment. */
export const RECORD_TABLE = `
  CREATE TABLE journal_record (
    seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,
    call TEXT, principal TEXT, tool TEXT, tenant TEXT, line TEXT NOT NULL, hash BLOB NOT NULL
  ) STRICT;`;

/**
 * Two indexes that only ever grow at their right edge, so that an append touches one page of each. The first is a narrow
 * copy of everything that is searched by, in the order of the records: any search is a scan of it, a tenth of a second for
 * a million records, and stops when its page is full. Call ids start with their time and grow as well.
 */
export const RECORD_INDEXES = `
  CREATE INDEX journal_record_search ON journal_record (seq, kind, principal, tool, at_ms);
  CREATE INDEX journal_record_call ON journal_record (call) WHERE call IS NOT NULL;`;

export const journalMigrations: readonly Migration[] = [
  {
    id: 'journal/001',
    sql: `${RECORD_TABLE} ${RECORD_INDEXES}
      CREATE TABLE journal_head (
        id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL, origin BLOB NOT NULL,
        frontier BLOB NOT NULL, at_ms INTEGER NOT NULL, checkpoint_seq INTEGER NOT NULL, checkpoint_at_ms INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE journal_tile (tile INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT;
      CREATE TABLE journal_checkpoint (size INTEGER PRIMARY KEY, envelope TEXT NOT NULL) STRICT;
      CREATE TABLE journal_open (call TEXT PRIMARY KEY, owner TEXT NOT NULL, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE journal_segment (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, file TEXT NOT NULL) STRICT;`,
  },
];

/** Makes a statement over the journal's tables. */
export const query = queries<JournalTables>();
