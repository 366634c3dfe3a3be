import { sql } from 'kysely';
import { quote } from '../core/hostile-text.ts';
import type { StorageKey, StoragePrefix } from '../core/storage-key.ts';
import { insertInto, type Reader, type Transaction } from '../store/transaction.ts';
import { charge, findAccount, openAccount, query, type SpaceName, type ValueRow } from './tables.ts';

/** Why a request of a skill was refused. None is an error of the gateway, and nothing was changed. */
type StorageWhy = 'invalid-key' | 'denied' | 'too-large' | 'full' | 'conflict' | 'busy';

export type StorageRefusal = { readonly ok: false; readonly why: StorageWhy; readonly message: string };

/** A refusal as a value; the message is one sentence for the author of the skill. */
export function refuseFor(why: StorageWhy, message: string): StorageRefusal {
  return { ok: false, why, message };
}

/** The limits of one space. Every number bounds what a skill can make the gateway store or read at a time. */
export const STORAGE_LIMITS = {
  valueBytes: 1_048_576,
  listEntries: 1_000,
  /** Requests of one call that wait for the disk; each may keep a whole value in memory. */
  pending: 64,
} as const;

/** The quota of one space. */
export type Quota = {
  /** Of all keys and all values together. */
  readonly bytes: number;
  readonly keys: number;
};

export const DEFAULT_QUOTA: Quota = { bytes: 67_108_864, keys: 100_000 };

export type Stored = { readonly value: Uint8Array; readonly version: number };

/** `bytes` are those of the value alone. */
export type KeyEntry = { readonly key: string; readonly version: number; readonly bytes: number };

/** `next` is the cursor of the next page; null on the last one. */
export type KeyPage = { readonly entries: readonly KeyEntry[]; readonly next: string | null };

type PageAsked = {
  readonly prefix: StoragePrefix;
  readonly after: StorageKey | null;
  readonly limit: number;
};

const selectValue = query<SpaceName & { key: string }>()((db, p) =>
  db
    .selectFrom('storage_value')
    .innerJoin('storage_space', 'storage_space.id', 'storage_value.space')
    .select(['storage_value.version', 'storage_value.value'])
    .where('storage_space.tenant', '=', p('tenant'))
    .where('storage_space.skill', '=', p('skill'))
    .where('storage_value.key', '=', p('key')),
);

/** The value of a key with its version; null when it does not exist. */
export function readValue(reader: Reader, { tenant, skill }: SpaceName, key: StorageKey): Stored | null {
  return reader.get(selectValue, { tenant, skill, key }) ?? null;
}

const selectEntry = query<{ space: number; key: string }>()((db, p) =>
  db
    .selectFrom('storage_value')
    .select(['id', 'key', 'version', sql<number>`length(value)`.as('bytes')])
    .where('space', '=', p('space'))
    .where('key', '=', p('key')),
);

type Range = { space: number; after: string; before: string; limit: number };

// One bound on each side: with two, SQLite would start at the wrong one and scan.
const selectRange = query<Range>()((db, p) =>
  db
    .selectFrom('storage_value')
    .select(['key', 'version', sql<number>`length(value)`.as('bytes')])
    .where('space', '=', p('space'))
    .where('key', '>', p('after'))
    .where('key', '<', p('before'))
    .orderBy('key')
    .limit(p('limit')),
);

/** Sorts after every key: no key can contain this character. */
const END = '\u{10ffff}';

/** A page of the keys at and beneath a prefix, sorted by their bytes. */
export function readPage(reader: Reader, name: SpaceName, { prefix, after, limit }: PageAsked): KeyPage {
  const space = findAccount(reader, name)?.id;
  if (space === undefined) return { entries: [], next: null };
  // Boundary: a guest requests any number of entries and gets a page.
  const most = Math.min(Math.max(1, Math.floor(limit) || 1), STORAGE_LIMITS.listEntries);
  const entries: KeyEntry[] = [];
  // The prefix and the keys beneath it are not adjacent: "a-b" sorts between "a" and "a/b".
  const own = isBehind(prefix, after) ? reader.get(selectEntry, { space, key: prefix }) : undefined;
  if (own !== undefined) entries.push({ key: own.key, version: own.version, bytes: own.bytes });
  const { from, before } = rangeOf(prefix);
  const start = after !== null && isBehind(after, from) ? after : from;
  entries.push(...reader.all(selectRange, { space, after: start, before, limit: most + 1 - entries.length }));
  if (entries.length <= most) return { entries, next: null };
  entries.pop();
  return { entries, next: entries.at(-1)?.key ?? null };
}

/** The range of keys beneath a prefix, both ends excluded; the character after "/" is "0". */
export function rangeOf(prefix: StoragePrefix): { readonly from: string; readonly before: string } {
  return prefix === '' ? { from: '', before: END } : { from: `${prefix}/`, before: `${prefix}0` };
}

/** Compares as the database does: JavaScript strings sort differently beyond U+FFFF. */
function isBehind(text: string, other: string | null): boolean {
  return other === null || Buffer.compare(Buffer.from(text), Buffer.from(other)) > 0;
}

/** A version, or that there is no value yet; undefined overwrites any value. */
export type IfVersion = number | 'absent' | undefined;

type Putting = {
  readonly key: StorageKey;
  readonly value: Buffer;
  readonly ifVersion: IfVersion;
  readonly quota: Quota;
};

export type Put = { readonly ok: true; readonly version: number } | StorageRefusal;
export type Deleted = { readonly ok: true; readonly existed: boolean } | StorageRefusal;

type Found = { readonly id: number; readonly version: number; readonly bytes: number };

const insertValue = insertInto<Omit<ValueRow, 'id'>>('storage_value');

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
  const found = tx.get(selectEntry, { space, key });
  if (!isAsExpected(found, ifVersion)) return conflict('write', key, found, ifVersion);
  const keyBytes = Buffer.byteLength(key);
  const moreBytes = keyBytes + value.byteLength - (found === undefined ? 0 : keyBytes + found.bytes);
  const moreKeys = found === undefined ? 1 : 0;
  // Boundary: a write that does not grow the space is accepted even above the quota, so that it can be emptied.
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
  const found = account && tx.get(selectEntry, { space: account.id, key });
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
