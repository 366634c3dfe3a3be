import type { ToolCall } from '../core/call.ts';
import { type Digest, digestBytes, digestValue } from '../core/digest.ts';
import { formatPrincipal } from '../core/principal.ts';
import type { Migration } from '../store/migrate.ts';
import { insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';

/*
 * Idempotency keys. A caller that does not know whether its call went through repeats it with the same key, and gets
 * the ending of the first. A key is used in the transaction that begins the call: a refused call uses none, so it can
 * be repeated once the reason is gone.
 */

/** The state of a key: not used yet, used by this same call before, or used by another one. */
export type KeyState =
  | { readonly kind: 'free' }
  | { readonly kind: 'same'; readonly callId: string }
  | { readonly kind: 'other' };

const KEY = /^[!-~]{1,255}$/;

export function isIdempotencyKey(text: string): boolean {
  return KEY.test(text);
}

const query = queries<ResultTables>();

type KeyOf = { tenant: string; principal: string; key: string; sinceMs: number };

const select = query<KeyOf>()((db, p) =>
  db
    .selectFrom('idempotency')
    .selectAll()
    .where('tenant', '=', p('tenant'))
    .where('principal', '=', p('principal'))
    .where('idempotency_key', '=', p('key'))
    .where('at_ms', '>=', p('sinceMs')),
);

const insert = insertInto<KeyRow>('idempotency');

const drop = query<{ beforeMs: number }>()((db, p) =>
  db.deleteFrom('idempotency').where('at_ms', '<', p('beforeMs')),
);

export function pruneKeys(tx: Transaction, beforeMs: number): void {
  tx.run(drop, { beforeMs });
}

/** The state of the key of a call; a key older than `sinceMs` does not count. */
export function keyState(reader: Reader, call: ToolCall, key: string, sinceMs: number): KeyState {
  const { tenant } = call;
  const row = reader.get(select, { tenant, principal: formatPrincipal(call.principal), key, sinceMs });
  if (row === undefined) return { kind: 'free' };
  return row.digest === requestDigest(call) ? { kind: 'same', callId: row.call } : { kind: 'other' };
}

/** Takes the key for a call that begins, where it is free; throws where another call has it. */
export function takeKey(tx: Transaction, call: ToolCall, key: string, sinceMs: number): void {
  pruneKeys(tx, sinceMs);
  tx.run(insert, {
    tenant: call.tenant,
    principal: formatPrincipal(call.principal),
    idempotency_key: key,
    call: call.id,
    digest: requestDigest(call),
    at_ms: call.receivedAtMs,
  });
}

function requestDigest({ tool, rawInput, run, timeoutMs }: ToolCall): Digest {
  return digestValue({ tool, run, timeoutMs, input: digestBytes(rawInput) });
}

export type ResultRow = {
  call: string;
  tenant: string;
  principal: string;
  run: string | null;
  session: string | null;
  door: string;
  tool: string;
  at_ms: number;
  status: 'ok' | 'failed' | 'refused';
  code: string;
  message: string;
  remedy: string;
  /** JSON; empty where it is not kept. */
  output_json: string;
  is_truncated: number;
  usage_json: string;
  seq: number;
};

type KeyRow = {
  tenant: string;
  principal: string;
  idempotency_key: string;
  call: string;
  digest: string;
  at_ms: number;
};

type LogRow = { call: string; at_ms: number; log_json: string };

export type ResultTables = { call_result: ResultRow; call_log: LogRow; idempotency: KeyRow };

/** The tables of this module. The id of a call starts with its time, so ids sort by time. */
export const resultMigrations: readonly Migration[] = [
  {
    id: 'results/001',
    sql: `
CREATE TABLE call_result (
  call TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  principal TEXT NOT NULL,
  run TEXT,
  door TEXT NOT NULL,
  tool TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'refused')),
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  remedy TEXT NOT NULL,
  output_json TEXT NOT NULL,
  is_truncated INTEGER NOT NULL,
  usage_json TEXT NOT NULL,
  seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX call_result_by_principal ON call_result (tenant, principal, call);
CREATE INDEX call_result_by_run ON call_result (tenant, run, call) WHERE run IS NOT NULL;
CREATE TABLE idempotency (
  tenant TEXT NOT NULL,
  principal TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  call TEXT NOT NULL,
  digest TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (tenant, principal, idempotency_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_time ON idempotency (at_ms);`,
  },
  {
    id: 'results/002',
    sql: `
CREATE TABLE call_log (
  call TEXT PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  log_json TEXT NOT NULL
) STRICT, WITHOUT ROWID;`,
  },
  {
    id: 'results/003',
    sql: `
ALTER TABLE call_result ADD COLUMN session TEXT;
CREATE INDEX call_result_by_session ON call_result (tenant, session, call) WHERE session IS NOT NULL;`,
  },
];
