import { sql } from 'kysely';
import { queries, type Reader, type Transaction } from '../store/transaction.ts';
import type { SpaceRow, StorageTables } from './tables.ts';

/** Whose space it is. Both names were checked before; they are two columns, so that no pair spells another. */
export type SpaceName = { readonly tenant: string; readonly skill: string };

export type Account = Pick<SpaceRow, 'id' | 'bytes' | 'keys' | 'last_version'>;

const query = queries<StorageTables>();

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

/** The account of a space; undefined as long as nothing was ever written to it. */
export function findAccount(reader: Reader, name: SpaceName): Account | undefined {
  return reader.get(selectAccount, name);
}

/** The account of a space, made at its first write. */
export function openAccount(tx: Transaction, { tenant, skill }: SpaceName): Account {
  const account = tx.get(selectAccount, { tenant, skill }) ?? tx.get(insertAccount, { tenant, skill });
  if (account === undefined) throw new TypeError('Cannot open account: the insert gave no row');
  return account;
}

/** Moves the totals of a space by these amounts. */
export function charge(tx: Transaction, amounts: Charge): void {
  tx.run(updateAccount, amounts);
}

/** How much a space holds now. */
export function usageOf(reader: Reader, name: SpaceName): { readonly bytes: number; readonly keys: number } {
  const { bytes, keys } = findAccount(reader, name) ?? { bytes: 0, keys: 0 };
  return { bytes, keys };
}
