import type { Migration } from '../store/migrate.ts';

export type ResultRow = {
  call: string;
  tenant: string;
  principal: string;
  run: string | null;
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
  /** The journal record that has the receipt. */
  seq: number;
};

export type KeyRow = {
  tenant: string;
  principal: string;
  idempotency_key: string;
  call: string;
  /** The digest of what was asked for with the key. */
  digest: string;
  at_ms: number;
};

export type ResultTables = { call_result: ResultRow; idempotency: KeyRow };

/** The tables of this room. The id of a call begins with its time, so its order is that of time. */
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
];
