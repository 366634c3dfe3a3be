import type { Migration } from '../store/migrate.ts';

/** A session as it is stored. `seq` is the order in which they began, even if the clock was set back. */
export type SessionRow = {
  id: string;
  tenant: string;
  principal: string;
  credential: string;
  /** Empty: the credential has none. A name is never empty. */
  device: string;
  channel: string;
  /** 1: its credential began it, and calls are in it that name it; 0: calls are in it that name no other. */
  is_begun: number;
  label: string;
  started_at_ms: number;
  used_at_ms: number;
  ended_at_ms: number | null;
  /** Who ended it; empty: it ended by itself, being idle. */
  ended_by: string | null;
};

export type SessionTables = { session: SessionRow & { seq: number } };

export const sessionMigrations: readonly Migration[] = [
  {
    id: 'sessions/001',
    sql: `
CREATE TABLE session (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  principal TEXT NOT NULL,
  credential TEXT NOT NULL,
  device TEXT NOT NULL,
  channel TEXT NOT NULL,
  is_begun INTEGER NOT NULL,
  label TEXT NOT NULL,
  started_at_ms INTEGER NOT NULL,
  used_at_ms INTEGER NOT NULL,
  ended_at_ms INTEGER,
  ended_by TEXT CHECK ((ended_by IS NULL) = (ended_at_ms IS NULL))
) STRICT;
CREATE UNIQUE INDEX session_current ON session (tenant, principal, credential, device, channel)
  WHERE ended_at_ms IS NULL AND is_begun = 0;
CREATE INDEX session_begun ON session (credential, started_at_ms) WHERE is_begun = 1;
CREATE INDEX session_by_principal ON session (tenant, principal, seq);
CREATE INDEX session_by_use ON session (used_at_ms);`,
  },
];
