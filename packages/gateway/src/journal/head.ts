import { hash } from 'node:crypto';
import { canonicalize } from '@palisade/sdk';
import type { Signer } from '../attest/keys.ts';
import { isoTime } from '../core/clock.ts';
import type { Migration } from '../store/migrate.ts';
import { insertInto, queries, type Transaction } from '../store/transaction.ts';

export type RecordRow = {
  readonly seq: number;
  readonly at_ms: number;
  readonly kind: string;
  readonly call: string | null;
  readonly principal: string | null;
  readonly tool: string | null;
  readonly tenant: string | null;
  /** The record itself; the columns beside it are copies for searching, which `verify` compares with it. */
  readonly line: string;
  readonly hash: Uint8Array;
};

type HeadRow = {
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

/** The table of records and its search columns; the same in the live database and in every sealed segment. */
export const RECORD_TABLE = `
  CREATE TABLE journal_record (
    seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL,
    call TEXT, principal TEXT, tool TEXT, tenant TEXT, line TEXT NOT NULL, hash BLOB NOT NULL
  ) STRICT;`;

/**
 * Two indexes that only ever grow at their right edge, so that an append touches one page of each. The first is a
 * narrow copy of all search columns, in the order of the records: any search is a scan of it, a tenth of a second for a
 * million records, and stops when its page is full. Call ids start with their time and grow as well.
 */
export const RECORD_INDEXES = `
  CREATE INDEX journal_record_search ON journal_record (seq, kind, principal, tool, at_ms);
  CREATE INDEX journal_record_call ON journal_record (call) WHERE call IS NOT NULL;`;

/** Finds a row where the records are indexed like that. */
export const HAS_INDEXES = "SELECT 1 FROM sqlite_master WHERE name = 'journal_record_search'";
/** From the indexes of 0.1.0, in the database or in a sealed segment. */
export const RENEW_INDEXES = `
  DROP INDEX IF EXISTS journal_record_at;
  DROP INDEX IF EXISTS journal_record_kind;
  DROP INDEX IF EXISTS journal_record_principal;
  DROP INDEX IF EXISTS journal_record_tool;
  DROP INDEX IF EXISTS journal_record_call;
  ${RECORD_INDEXES}`;

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
  { id: 'journal/002', unless: HAS_INDEXES, sql: RENEW_INDEXES },
];

export const query = queries<JournalTables>();

/** The end of the chain, as one transaction advances it. */
export type Head = ReturnType<typeof readHead>;

const CHECKPOINT_TYPE = 'application/vnd.palisade.checkpoint+json';

const selectHead = query()((db) => db.selectFrom('journal_head').selectAll());

const replaceHead = insertInto<HeadRow>('journal_head', 'replace');

const lastSealed = query()((db) =>
  db.selectFrom('journal_segment').select((e) => e.fn.max('last').as('last')),
);

const dropLiveCheckpoints = query<{ sealed: number }>()((db, p) =>
  db.deleteFrom('journal_checkpoint').where('size', '>', p('sealed')),
);

const insertCheckpoint = insertInto<CheckpointRow>('journal_checkpoint');

const HASH_BYTES = 32;
const NO_HASH = new Uint8Array(HASH_BYTES);
const NO_HEAD: Omit<HeadRow, 'id'> = {
  seq: 0,
  hash: NO_HASH,
  origin: NO_HASH,
  frontier: new Uint8Array(0),
  at_ms: 0,
  checkpoint_seq: 0,
  checkpoint_at_ms: 0,
};

export function readHead(reader: Pick<Transaction, 'get'>) {
  const row = reader.get(selectHead, {}) ?? NO_HEAD;
  return {
    seq: row.seq,
    hash: row.hash,
    origin: row.origin,
    frontier: decodeFrontier(row.frontier),
    atMs: row.at_ms,
    checkpointSeq: row.checkpoint_seq,
    checkpointAtMs: row.checkpoint_at_ms,
  };
}

export function writeHead(tx: Transaction, head: Head): void {
  tx.run(replaceHead, {
    id: 1,
    seq: head.seq,
    hash: head.hash,
    origin: head.origin,
    frontier: encodeFrontier(head.frontier),
    at_ms: head.atMs,
    checkpoint_seq: head.checkpointSeq,
    checkpoint_at_ms: head.checkpointAtMs,
  });
}

/** Signs size, root and last hash of the current journal. For the live part only the newest checkpoint is kept. */
export function writeCheckpoint(tx: Transaction, head: Head, signer: Signer): string {
  const envelope = signer.sign(CHECKPOINT_TYPE, checkpointPayload(head, signer.validSince()));
  tx.run(dropLiveCheckpoints, { sealed: tx.get(lastSealed, {})?.last ?? 0 });
  tx.run(insertCheckpoint, { size: head.seq, envelope });
  head.checkpointSeq = head.seq;
  head.checkpointAtMs = head.atMs;
  return envelope;
}

/** Dated like the last record, but never before the key that signs it. */
function checkpointPayload(head: Head, validSince: string): string {
  const at = isoTime(head.atMs);
  return canonicalize({
    at: at < validSince ? validSince : at,
    head: hex(head.hash),
    origin: hex(head.origin),
    root: hex(rootOf(head.frontier)),
    size: head.seq,
    v: 1,
  });
}

/*
 * The right edge of a Merkle tree (RFC 6962) that only grows: the roots of its complete subtrees, largest first. It is
 * all that must be kept to append and to know the root. Roots of complete subtrees of 256 leaves ("tiles") are returned
 * as they are completed, so that an inclusion proof never has to read the whole journal.
 */

export const TILE_LEAVES = 256;

const NODE = Buffer.from([0x01]);

/** The hash of a record: both its leaf in the tree and the `prev` of the next record. */
export function leafHash(line: string): Buffer {
  return hash('sha256', `\0${line}`, 'buffer');
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([NODE, left, right]), 'buffer');
}

/** Adds one leaf to the tree of `size` leaves; returns the root of a tile when this leaf completed one. */
export function appendLeaf(frontier: Uint8Array[], size: number, leaf: Uint8Array): Uint8Array | null {
  let node = leaf;
  let tile: Uint8Array | null = null;
  for (let leaves = 1; (size / leaves) % 2 >= 1; leaves *= 2) {
    const left = frontier.pop();
    if (left === undefined)
      throw new TypeError('Cannot append leaf: the frontier is shorter than its size says');
    node = nodeHash(left, node);
    if (leaves * 2 === TILE_LEAVES) tile = node;
  }
  frontier.push(node);
  return tile;
}

export function rootOf(frontier: readonly Uint8Array[]): Uint8Array {
  const last = frontier.at(-1);
  if (last === undefined) return hash('sha256', '', 'buffer');
  return frontier.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last);
}

export function encodeFrontier(frontier: readonly Uint8Array[]): Buffer {
  return Buffer.concat(frontier);
}

export function decodeFrontier(bytes: Uint8Array): Uint8Array[] {
  const hashes: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += HASH_BYTES) hashes.push(bytes.subarray(at, at + HASH_BYTES));
  return hashes;
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
