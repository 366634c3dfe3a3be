import { sql } from 'kysely';
import type { Migration } from '../store/migrate.ts';
import { queries, type Reader, type Transaction } from '../store/transaction.ts';

type SpaceRow = {
  id: number;
  tenant: string;
  skill: string;
  /** Of all keys and values, kept in step with every write. */
  bytes: number;
  keys: number;
  /** The version of the last write. It is kept after deletions, so that no version is reused. */
  last_version: number;
};

export type ValueRow = { id: number; space: number; key: string; version: number; value: Buffer };

type StorageTables = { storage_space: SpaceRow; storage_value: ValueRow };

/** The tables of this module. Keys are compared by their bytes, which is how SQLite compares text. */
export const storageMigrations: readonly Migration[] = [
  {
    id: 'storage/001',
    sql: `
CREATE TABLE storage_space (
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  skill TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  keys INTEGER NOT NULL CHECK (keys >= 0),
  last_version INTEGER NOT NULL CHECK (last_version >= 0),
  UNIQUE (tenant, skill)
) STRICT;
CREATE TABLE storage_value (
  id INTEGER PRIMARY KEY,
  space INTEGER NOT NULL REFERENCES storage_space (id),
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  value BLOB NOT NULL,
  UNIQUE (space, key)
) STRICT;`,
  },
];

/** The owner of a space. Both names were checked before; they are two columns, so that no two pairs collide. */
export type SpaceName = { readonly tenant: string; readonly skill: string };

type SpaceAccount = Pick<SpaceRow, 'id' | 'bytes' | 'keys' | 'last_version'>;

/** Makes a statement over the tables of this module. */
export const query = queries<StorageTables>();

const selectAccount = query<SpaceName>()((db, p) =>
  db
    .selectFrom('storage_space')
    .select(['id', 'bytes', 'keys', 'last_version'])
    .where('tenant', '=', p('tenant'))
    .where('skill', '=', p('skill')),
);

const insertAccount = query<SpaceName>()((db, p) =>
  db
    .insertInto('storage_space')
    .values({
      id: null as never,
      tenant: p('tenant'),
      skill: p('skill'),
      bytes: 0,
      keys: 0,
      last_version: 0,
    })
    .returning(['id', 'bytes', 'keys', 'last_version']),
);

type Charge = { id: number; bytes: number; keys: number; lastVersion: number };

const updateAccount = query<Charge>()((db, p) =>
  db
    .updateTable('storage_space')
    .set({
      bytes: sql`bytes + ${p('bytes')}`,
      keys: sql`keys + ${p('keys')}`,
      last_version: p('lastVersion'),
    })
    .where('id', '=', p('id')),
);

/** The account of a space; undefined while nothing was ever written to it. */
export function findAccount(reader: Reader, name: SpaceName): SpaceAccount | undefined {
  return reader.get(selectAccount, name);
}

/** The account of a space, created at its first write. */
export function openAccount(tx: Transaction, { tenant, skill }: SpaceName): SpaceAccount {
  const account = tx.get(selectAccount, { tenant, skill }) ?? tx.get(insertAccount, { tenant, skill });
  if (account === undefined) throw new TypeError('Cannot open account: the insert gave no row');
  return account;
}

/** Changes the totals of a space by these amounts. */
export function charge(tx: Transaction, amounts: Charge): void {
  tx.run(updateAccount, amounts);
}
