import type { Migration } from '../store/migrate.ts';

export type PinRow = {
  name: string;
  /** Of the command that was accepted. */
  rule: string;
  state: 'accepted' | 'quarantined';
  /** Grows with every change of the row. */
  revision: number;
  /** The accepted set as canonical JSON, and its digest. */
  accepted: string;
  digest: string;
  /** What was offered last, where that differs; null where it is the same, or could not be read. */
  offered: string | null;
  offered_digest: string | null;
  offered_rule: string | null;
  /** Why it is in quarantine; null where it is not. */
  reason: string | null;
  accepted_by: string;
  accepted_at_ms: number;
  changed_at_ms: number;
};

export type UpstreamTables = { upstream_pin: PinRow };

/** The tables of this room. Rows are never deleted, so that the sum of their revisions only grows. */
export const upstreamMigrations: readonly Migration[] = [
  {
    id: 'upstreams/001',
    sql: `
CREATE TABLE upstream_pin (
  name TEXT PRIMARY KEY,
  rule TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('accepted', 'quarantined')),
  revision INTEGER NOT NULL CHECK (revision > 0),
  accepted TEXT NOT NULL,
  digest TEXT NOT NULL,
  offered TEXT,
  offered_digest TEXT,
  offered_rule TEXT,
  reason TEXT,
  accepted_by TEXT NOT NULL,
  accepted_at_ms INTEGER NOT NULL,
  changed_at_ms INTEGER NOT NULL
) STRICT;`,
  },
];
