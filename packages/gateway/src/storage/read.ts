import { sql } from 'kysely';
import type { StorageKey, StoragePrefix } from '../core/storage-key.ts';
import { queries, type Reader } from '../store/transaction.ts';
import { findAccount, type SpaceName } from './account.ts';
import { STORAGE_LIMITS } from './limits.ts';
import type { StorageTables } from './tables.ts';

export type Stored = { readonly value: Uint8Array; readonly version: number };

/** `bytes` are those of the value alone. */
export type Entry = { readonly key: string; readonly version: number; readonly bytes: number };

/** `next` is the cursor of the page that follows; null on the last one. */
export type Page = { readonly entries: readonly Entry[]; readonly next: string | null };

export type PageAsked = {
  readonly prefix: StoragePrefix;
  /** Only keys that sort behind this one. */
  readonly after: StorageKey | null;
  readonly limit: number;
};

const query = queries<StorageTables>();

const selectValue = query<SpaceName & { key: string }>()((db, p) =>
  db
    .selectFrom('storage_value')
    .innerJoin('storage_space', 'storage_space.id', 'storage_value.space')
    .select(['storage_value.version', 'storage_value.value'])
    .where('storage_space.tenant', '=', p('tenant'))
    .where('storage_space.skill', '=', p('skill'))
    .where('storage_value.key', '=', p('key')),
);

/** The value of a key with its version; null when there is none. */
export function readValue(reader: Reader, { tenant, skill }: SpaceName, key: StorageKey): Stored | null {
  return reader.get(selectValue, { tenant, skill, key }) ?? null;
}

const selectEntry = query<{ space: number; key: string }>()((db, p) =>
  db
    .selectFrom('storage_value')
    .select(['key', 'version', sql<number>`length(value)`.as('bytes')])
    .where('space', '=', p('space'))
    .where('key', '=', p('key')),
);

type Range = { space: number; after: string; before: string; limit: number };

// One bound on each side: with two, SQLite would start at the wrong one and walk.
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

/** Behind every key: no key can have this character. */
const END = '\u{10ffff}';

/** A page of the keys at and beneath a prefix, sorted by their bytes. */
export function readPage(reader: Reader, name: SpaceName, { prefix, after, limit }: PageAsked): Page {
  const space = findAccount(reader, name)?.id;
  if (space === undefined) return { entries: [], next: null };
  // Boundary: a guest asks for any number of entries and gets a page.
  const most = Math.min(Math.max(1, Math.floor(limit) || 1), STORAGE_LIMITS.listEntries);
  const entries: Entry[] = [];
  // The prefix and what lies beneath it are not neighbours: "a-b" sorts between "a" and "a/b".
  const own = isBehind(prefix, after) ? reader.get(selectEntry, { space, key: prefix }) : undefined;
  if (own !== undefined) entries.push(own);
  const { from, before } = rangeOf(prefix);
  const start = after !== null && isBehind(after, from) ? after : from;
  entries.push(...reader.all(selectRange, { space, after: start, before, limit: most + 1 - entries.length }));
  if (entries.length <= most) return { entries, next: null };
  entries.pop();
  return { entries, next: entries.at(-1)?.key ?? null };
}

/** Where the keys beneath a prefix lie, both ends excluded; the character behind "/" is "0". */
function rangeOf(prefix: StoragePrefix): { readonly from: string; readonly before: string } {
  return prefix === '' ? { from: '', before: END } : { from: `${prefix}/`, before: `${prefix}0` };
}

/** Compares as the database does: strings of JavaScript sort otherwise beyond U+FFFF. */
function isBehind(text: string, other: string | null): boolean {
  return other === null || Buffer.compare(Buffer.from(text), Buffer.from(other)) > 0;
}
