import { sql } from 'kysely';
import type { Migration } from '../store/migrate.ts';
import { insertInto, type Placeholder, queries } from '../store/transaction.ts';
import type { VaultScope } from './secret.ts';

/** What locks the key that everything is sealed with. */
export type LockRow = {
  readonly id: number;
  readonly source: 'file' | 'passphrase';
  /** Which key of the key file it is, or the salt of the passphrase. */
  readonly key_ref: string;
  /** The data key, sealed by that key. */
  readonly wrapped: Uint8Array;
};

/** Which secrets exist, sealed: what was restored, removed or swapped does not match it. */
type InventoryRow = {
  readonly id: number;
  /** Of the sealed list; only shows whether it is the one that was read before. */
  readonly mark: string;
  readonly sealed: Uint8Array;
};

export type SecretRow = {
  readonly scope_kind: VaultScope['kind'];
  readonly scope_subject: string;
  readonly name: string;
  /** 1 for the first value, one more with each new one. */
  readonly version: number;
  readonly sealed: Uint8Array;
  readonly bytes: number;
  /** When this value was set. */
  readonly created_at_ms: number;
  readonly used_at_ms: number | null;
};

type VaultTables = {
  vault_lock: LockRow;
  vault_inventory: InventoryRow;
  vault_secret: SecretRow;
};

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

const query = queries<VaultTables>();

type SecretKey = Pick<SecretRow, 'scope_kind' | 'scope_subject' | 'name'>;

export const selectLock = query()((db) => db.selectFrom('vault_lock').selectAll());
export const replaceLock = insertInto<LockRow>('vault_lock', 'replace');

export const selectMark = query()((db) => db.selectFrom('vault_inventory').select('mark'));
export const selectInventory = query()((db) => db.selectFrom('vault_inventory').selectAll());
export const replaceInventory = insertInto<InventoryRow>('vault_inventory', 'replace');

export const selectSecret = query<SecretKey>()((db, p) =>
  db.selectFrom('vault_secret').selectAll().where(hasKey(p)),
);
/** All rows by name, then by scope. */
export const selectAbout = query()((db) =>
  db
    .selectFrom('vault_secret')
    .select(['scope_kind', 'scope_subject', 'name', 'version', 'bytes', 'created_at_ms', 'used_at_ms'])
    .orderBy('name')
    .orderBy('scope_kind')
    .orderBy('scope_subject'),
);
export const deleteSecret = query<SecretKey>()((db, p) => db.deleteFrom('vault_secret').where(hasKey(p)));
export const deleteSecrets = query()((db) => db.deleteFrom('vault_secret'));
export const replaceSecret = insertInto<SecretRow>('vault_secret', 'replace');
export const updateUsed = query<SecretKey & { used_at_ms: number }>()((db, p) =>
  db
    .updateTable('vault_secret')
    .set({ used_at_ms: p('used_at_ms') })
    .where(hasKey(p)),
);

function hasKey(p: Placeholder<SecretKey>) {
  return sql<boolean>`(scope_kind, scope_subject, name) = (${p('scope_kind')}, ${p('scope_subject')}, ${p('name')})`;
}

export type AboutRow = Omit<SecretRow, 'sealed'>;

export function keyOf({ kind, subject }: VaultScope, name: string): SecretKey {
  return { scope_kind: kind, scope_subject: subject, name };
}
