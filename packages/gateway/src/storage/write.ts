import { sql } from 'kysely';
import { quote } from '../core/hostile-text.ts';
import type { StorageKey } from '../core/storage-key.ts';
import { queries, type Transaction } from '../store/transaction.ts';
import { charge, findAccount, openAccount, type SpaceName } from './account.ts';
import type { Quota } from './limits.ts';
import { refuseFor, type StorageRefusal } from './refusal.ts';
import type { StorageTables } from './tables.ts';

/** A version, or that there is no value yet; undefined writes over whatever is there. */
export type IfVersion = number | 'absent' | undefined;

export type Putting = {
  readonly key: StorageKey;
  readonly value: Buffer;
  readonly ifVersion: IfVersion;
  readonly quota: Quota;
};

export type Put = { readonly ok: true; readonly version: number } | StorageRefusal;
export type Deleted = { readonly ok: true; readonly existed: boolean } | StorageRefusal;

type Found = { readonly id: number; readonly version: number; readonly bytes: number };

const query = queries<StorageTables>();

const selectFound = query<{ space: number; key: string }>()((db, p) =>
  db
    .selectFrom('storage_value')
    .select(['id', 'version', sql<number>`length(value)`.as('bytes')])
    .where('space', '=', p('space'))
    .where('key', '=', p('key')),
);

const insertValue = query<{ space: number; key: string; version: number; value: Buffer }>()((db, p) =>
  db.insertInto('storage_value').values({
    id: null as never,
    space: p('space'),
    key: p('key'),
    version: p('version'),
    value: p('value'),
  }),
);

const updateValue = query<{ id: number; version: number; value: Buffer }>()((db, p) =>
  db
    .updateTable('storage_value')
    .set({ version: p('version'), value: p('value') })
    .where('id', '=', p('id')),
);

const deleteById = query<{ id: number }>()((db, p) =>
  db.deleteFrom('storage_value').where('id', '=', p('id')),
);

/** Writes a value with a version above every earlier one of the space, or changes nothing. */
export function putValue(tx: Transaction, name: SpaceName, { key, value, ifVersion, quota }: Putting): Put {
  const account = openAccount(tx, name);
  const space = account.id;
  const found = tx.get(selectFound, { space, key });
  if (!isAsExpected(found, ifVersion)) return conflict('write', key, found, ifVersion);
  const keyBytes = Buffer.byteLength(key);
  const moreBytes = keyBytes + value.byteLength - (found === undefined ? 0 : keyBytes + found.bytes);
  const moreKeys = found === undefined ? 1 : 0;
  // Boundary: what does not grow is taken even above the quota, so that a space can be emptied that is too full.
  if (moreBytes > 0 && account.bytes + moreBytes > quota.bytes)
    return full(key, 'bytes', account.bytes, quota.bytes);
  if (moreKeys > 0 && account.keys + moreKeys > quota.keys)
    return full(key, 'keys', account.keys, quota.keys);
  const version = account.last_version + 1;
  if (found === undefined) tx.run(insertValue, { space, key, version, value });
  else tx.run(updateValue, { id: found.id, version, value });
  charge(tx, { id: space, bytes: moreBytes, keys: moreKeys, lastVersion: version });
  return { ok: true, version };
}

/** Removes a value, or changes nothing. */
export function deleteValue(
  tx: Transaction,
  name: SpaceName,
  { key, ifVersion }: { readonly key: StorageKey; readonly ifVersion: number | undefined },
): Deleted {
  const account = findAccount(tx, name);
  const found = account && tx.get(selectFound, { space: account.id, key });
  if (!isAsExpected(found, ifVersion)) return conflict('delete', key, found, ifVersion);
  if (account === undefined || found === undefined) return { ok: true, existed: false };
  tx.run(deleteById, { id: found.id });
  const bytes = -(found.bytes + Buffer.byteLength(key));
  charge(tx, { id: account.id, bytes, keys: -1, lastVersion: account.last_version });
  return { ok: true, existed: true };
}

function isAsExpected(found: Found | undefined, ifVersion: IfVersion): boolean {
  if (ifVersion === undefined) return true;
  return ifVersion === 'absent' ? found === undefined : found?.version === ifVersion;
}

function conflict(
  act: 'write' | 'delete',
  key: StorageKey,
  found: Found | undefined,
  ifVersion: IfVersion,
): StorageRefusal {
  const is = found === undefined ? 'it is absent' : `its version is ${found.version}`;
  const expected = ifVersion === 'absent' ? 'it to be absent' : `version ${ifVersion}`;
  return refuseFor('conflict', `Cannot ${act} key ${quote(key)}: ${is}, expected ${expected}`);
}

function full(key: StorageKey, unit: string, held: number, most: number): StorageRefusal {
  const message = `Cannot write key ${quote(key)}: the space holds ${held} ${unit}, expected at most ${most} with it`;
  return refuseFor('full', message);
}
