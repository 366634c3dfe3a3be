import type { Migration } from '../store/migrate.ts';
import { queries } from '../store/transaction.ts';
import type { Scope } from './scope.ts';

/** What locks the key that all is sealed with. */
export type LockRow = {
  readonly id: number;
  readonly source: 'file' | 'passphrase';
  /** Which key of the key file it is, or the salt of the passphrase. */
  readonly key_ref: string;
  /** The data key, sealed by that key. */
  readonly wrapped: Uint8Array;
};

/** Which secrets there are, sealed: what was put back, taken away or swapped does not fit it. */
export type InventoryRow = {
  readonly id: number;
  /** Of the sealed list; only tells whether it is the one that was read before. */
  readonly mark: string;
  readonly sealed: Uint8Array;
};

export type SecretRow = {
  readonly scope_kind: Scope['kind'];
  readonly scope_subject: string;
  readonly name: string;
  readonly version: number;
  readonly sealed: Uint8Array;
  readonly bytes: number;
  readonly created_at_ms: number;
  readonly used_at_ms: number | null;
};

export type VaultTables = {
  vault_lock: LockRow;
  vault_inventory: InventoryRow;
  vault_secret: SecretRow;
};

/** The tables of this room. */
export const vaultMigrations: readonly Migration[] = [
  {
    id: 'vault/001',
    sql: `
CREATE TABLE vault_lock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  source TEXT NOT NULL CHECK (source IN ('file', 'passphrase')),
  key_ref TEXT NOT NULL,
  wrapped BLOB NOT NULL
) STRICT;
CREATE TABLE vault_inventory (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  mark TEXT NOT NULL,
  sealed BLOB NOT NULL
) STRICT;
CREATE TABLE vault_secret (
  scope_kind TEXT NOT NULL CHECK (scope_kind IN ('global', 'tenant', 'principal', 'skill')),
  scope_subject TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  sealed BLOB NOT NULL,
  bytes INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  used_at_ms INTEGER,
  PRIMARY KEY (scope_kind, scope_subject, name)
) STRICT;`,
  },
];

/** Makes a statement over the tables of the vault. */
export const query = queries<VaultTables>();
