import type { Migration } from '../store/migrate.ts';
import { queries, type Reader, type Transaction } from '../store/transaction.ts';
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
  readonly version: number;
  readonly sealed: Uint8Array;
  readonly bytes: number;
  readonly created_at_ms: number;
  readonly used_at_ms: number | null;
};

type VaultTables = {
  vault_lock: LockRow;
  vault_inventory: InventoryRow;
  vault_secret: SecretRow;
};

/** The tables of this module. */
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

/** The key of a row. */
type SecretKey = { scope_kind: VaultScope['kind']; scope_subject: string; name: string };

const selectLock = query()((db) => db.selectFrom('vault_lock').selectAll());
const deleteLock = query()((db) => db.deleteFrom('vault_lock'));
const insertLock = query<LockRow>()((db, p) =>
  db
    .insertInto('vault_lock')
    .values({ id: p('id'), source: p('source'), key_ref: p('key_ref'), wrapped: p('wrapped') }),
);

const selectMark = query()((db) => db.selectFrom('vault_inventory').select('mark'));
const selectInventory = query()((db) => db.selectFrom('vault_inventory').selectAll());
const deleteInventory = query()((db) => db.deleteFrom('vault_inventory'));
const insertInventory = query<InventoryRow>()((db, p) =>
  db.insertInto('vault_inventory').values({ id: p('id'), mark: p('mark'), sealed: p('sealed') }),
);

const selectSecret = query<SecretKey>()((db, p) =>
  db
    .selectFrom('vault_secret')
    .selectAll()
    .where('scope_kind', '=', p('scope_kind'))
    .where('scope_subject', '=', p('scope_subject'))
    .where('name', '=', p('name')),
);
const selectAbout = query()((db) =>
  db
    .selectFrom('vault_secret')
    .select(['scope_kind', 'scope_subject', 'name', 'version', 'bytes', 'created_at_ms', 'used_at_ms'])
    .orderBy('name')
    .orderBy('scope_kind')
    .orderBy('scope_subject'),
);
const deleteSecret = query<SecretKey>()((db, p) =>
  db
    .deleteFrom('vault_secret')
    .where('scope_kind', '=', p('scope_kind'))
    .where('scope_subject', '=', p('scope_subject'))
    .where('name', '=', p('name')),
);
const deleteSecrets = query()((db) => db.deleteFrom('vault_secret'));
const insertSecret = query<SecretRow>()((db, p) =>
  db.insertInto('vault_secret').values({
    scope_kind: p('scope_kind'),
    scope_subject: p('scope_subject'),
    name: p('name'),
    version: p('version'),
    sealed: p('sealed'),
    bytes: p('bytes'),
    created_at_ms: p('created_at_ms'),
    used_at_ms: p('used_at_ms'),
  }),
);
const updateUsed = query<SecretKey & { used_at_ms: number }>()((db, p) =>
  db
    .updateTable('vault_secret')
    .set({ used_at_ms: p('used_at_ms') })
    .where('scope_kind', '=', p('scope_kind'))
    .where('scope_subject', '=', p('scope_subject'))
    .where('name', '=', p('name')),
);

/** A row without its sealed value. */
export type AboutRow = Omit<SecretRow, 'sealed'>;

export function keyOf({ kind, subject }: VaultScope, name: string): SecretKey {
  return { scope_kind: kind, scope_subject: subject, name };
}

export function readLock(reader: Reader): LockRow | undefined {
  return reader.get(selectLock, {});
}

export function writeLock(tx: Transaction, row: LockRow): void {
  tx.run(deleteLock, {});
  tx.run(insertLock, row);
}

export function readMark(reader: Reader): string | undefined {
  return reader.get(selectMark, {})?.mark;
}

export function readInventory(reader: Reader): InventoryRow | undefined {
  return reader.get(selectInventory, {});
}

export function writeInventory(tx: Transaction, row: Omit<InventoryRow, 'id'>): void {
  tx.run(deleteInventory, {});
  tx.run(insertInventory, { id: 1, ...row });
}

export function readSecret(reader: Reader, scope: VaultScope, name: string): SecretRow | undefined {
  return reader.get(selectSecret, keyOf(scope, name));
}

/** All rows by name, then by scope. */
export function readAbout(reader: Reader): AboutRow[] {
  return reader.all(selectAbout, {});
}

/** Replaces the row of the same key, if there is one. */
export function writeSecret(tx: Transaction, row: SecretRow): void {
  tx.run(deleteSecret, { scope_kind: row.scope_kind, scope_subject: row.scope_subject, name: row.name });
  tx.run(insertSecret, row);
}

/** True when it existed. */
export function removeSecret(tx: Transaction, scope: VaultScope, name: string): boolean {
  return tx.run(deleteSecret, keyOf(scope, name)) > 0;
}

/** Returns how many there were. */
export function removeAllSecrets(tx: Transaction): number {
  return tx.run(deleteSecrets, {});
}

export function noteUse(tx: Transaction, row: SecretRow, nowMs: number): void {
  const { scope_kind, scope_subject, name } = row;
  tx.run(updateUsed, { scope_kind, scope_subject, name, used_at_ms: nowMs });
}
