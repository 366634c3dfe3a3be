import type { Migration } from '../store/migrate.ts';
import { builder, queries } from '../store/transaction.ts';

export type TokenRow = {
  readonly id: string;
  /** SHA-256 of the secret bytes, in hex: all that is kept of the secret. */
  readonly digest: string;
  readonly principal: string;
  readonly tenant: string;
  /** Scopes with a space between them, in the order of their table. */
  readonly scopes: string;
  readonly approver: string | null;
  readonly label: string;
  readonly created_at_ms: number;
  readonly created_by: string;
  readonly expires_at_ms: number;
  readonly revoked_at_ms: number | null;
  readonly revoked_by: string | null;
};

/** `seq` is the order of creation, even if the clock was set back. */
type IdentityTables = { identity_token: TokenRow & { readonly seq: number } };

export const identityMigrations: readonly Migration[] = [
  {
    id: 'identity/001',
    sql: `
CREATE TABLE identity_token (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  principal TEXT NOT NULL,
  tenant TEXT NOT NULL,
  scopes TEXT NOT NULL,
  approver TEXT,
  label TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  revoked_at_ms INTEGER,
  revoked_by TEXT CHECK ((revoked_by IS NULL) = (revoked_at_ms IS NULL))
) STRICT;
CREATE INDEX identity_token_by_tenant ON identity_token (tenant, seq);`,
  },
];

export const db = builder<IdentityTables>();
export const query = queries<IdentityTables>();
