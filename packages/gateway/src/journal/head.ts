import { canonicalize } from '@palisade/sdk';
import type { Signer } from '../attest/keys.ts';
import { isoTime } from '../core/clock.ts';
import type { Transaction } from '../store/transaction.ts';
import { decodeFrontier, encodeFrontier, HASH_BYTES, rootOf } from './frontier.ts';
import { type HeadRow, query } from './tables.ts';

/** Where the chain ends, as one transaction moves it on. */
export type Head = {
  seq: number;
  hash: Uint8Array;
  origin: Uint8Array;
  frontier: Uint8Array[];
  atMs: number;
  checkpointSeq: number;
  checkpointAtMs: number;
};

const CHECKPOINT_TYPE = 'application/vnd.palisade.checkpoint+json';

const selectHead = query()((db) => db.selectFrom('journal_head').selectAll());

const upsertHead = query<HeadRow>()((db, p) => {
  const row = {
    seq: p('seq'),
    hash: p('hash'),
    origin: p('origin'),
    frontier: p('frontier'),
    at_ms: p('at_ms'),
    checkpoint_seq: p('checkpoint_seq'),
    checkpoint_at_ms: p('checkpoint_at_ms'),
  };
  return db
    .insertInto('journal_head')
    .values({ id: 1, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row));
});

const lastSealed = query()((db) =>
  db.selectFrom('journal_segment').select((e) => e.fn.max('last').as('last')),
);

const dropLiveCheckpoints = query<{ sealed: number }>()((db, p) =>
  db.deleteFrom('journal_checkpoint').where('size', '>', p('sealed')),
);

const insertCheckpoint = query<{ size: number; envelope: string }>()((db, p) =>
  db.insertInto('journal_checkpoint').values({ size: p('size'), envelope: p('envelope') }),
);

export function readHead(reader: Pick<Transaction, 'get'>): Head {
  const row = reader.get(selectHead, {});
  const none = new Uint8Array(HASH_BYTES);
  if (row === undefined) {
    return { seq: 0, hash: none, origin: none, frontier: [], atMs: 0, checkpointSeq: 0, checkpointAtMs: 0 };
  }
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
  tx.run(upsertHead, {
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

/** Signs size, root and last hash of the journal as it stands. Of the live part only the newest checkpoint is kept. */
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
    head: Buffer.from(head.hash).toString('hex'),
    origin: Buffer.from(head.origin).toString('hex'),
    root: Buffer.from(rootOf(head.frontier)).toString('hex'),
    size: head.seq,
    v: 1,
  });
}
