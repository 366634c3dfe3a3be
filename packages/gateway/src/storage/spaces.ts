/*
 * What skills have stored, as operators see it: the spaces of tenants with their sizes, and how keys, the keys beneath a
 * prefix, or all keys of a space are deleted. Who may do so is decided by the callers.
 */
import { sql } from 'kysely';
import type { StorageKey, StoragePrefix } from '../core/storage-key.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import { charge, findAccount, query, type SpaceName } from './tables.ts';
import { rangeOf } from './values.ts';

export type SpaceEntry = SpaceName & { readonly keys: number; readonly bytes: number };

type SpacesAsked = {
  /** Only of this tenant, and of this skill; null: of all. */
  readonly tenant: string | null;
  readonly skill: string | null;
  /** The last one already seen. */
  readonly after: SpaceName | null;
  readonly limit: number;
};

type Page = {
  tenant: string | null;
  skill: string | null;
  lastTenant: string;
  lastSkill: string;
  limit: number;
};

const selectSpaces = query<Page>()((db, p) =>
  db
    .selectFrom('storage_space')
    .select(['tenant', 'skill', 'keys', 'bytes'])
    .where('keys', '>', 0)
    .where(sql<boolean>`(tenant, skill) > (${p('lastTenant')}, ${p('lastSkill')})`)
    .where(sql<boolean>`(${p('tenant')} IS NULL OR tenant = ${p('tenant')})`)
    .where(sql<boolean>`(${p('skill')} IS NULL OR skill = ${p('skill')})`)
    .orderBy('tenant')
    .orderBy('skill')
    .limit(p('limit')),
);

/** A page of the spaces that have keys, by tenant and skill; `next` is the last one where there are more. */
export function pageOfSpaces(
  reader: Reader,
  { tenant, skill, after, limit }: SpacesAsked,
): { readonly spaces: readonly SpaceEntry[]; readonly next: SpaceName | null } {
  const last = { lastTenant: after?.tenant ?? '', lastSkill: after?.skill ?? '' };
  const rows = reader.all(selectSpaces, { tenant, skill, ...last, limit: limit + 1 });
  const spaces = rows.slice(0, limit);
  return { spaces, next: rows.length > limit ? (spaces.at(-1) ?? null) : null };
}

/** What is deleted of a space: one key, the keys at and beneath a prefix, or all of them. */
export type Deleting =
  | { readonly kind: 'key'; readonly key: StorageKey }
  | { readonly kind: 'prefix'; readonly prefix: StoragePrefix }
  | { readonly kind: 'all' };

/** The keys that are gone, and the bytes of them and their values. */
export type Emptied = { readonly keys: number; readonly bytes: number };

type Range = { space: number; at: string; after: string; before: string };

const sumRange = query<Range>()((db, p) =>
  db
    .selectFrom('storage_value')
    .select([
      sql<number>`count(*)`.as('keys'),
      sql<number>`coalesce(sum(length(CAST(key AS BLOB)) + length(value)), 0)`.as('bytes'),
    ])
    .where('space', '=', p('space'))
    .where(sql<boolean>`(key = ${p('at')} OR (key > ${p('after')} AND key < ${p('before')}))`),
);

const deleteRange = query<Range>()((db, p) =>
  db
    .deleteFrom('storage_value')
    .where('space', '=', p('space'))
    .where(sql<boolean>`(key = ${p('at')} OR (key > ${p('after')} AND key < ${p('before')}))`),
);

/** Deletes; versions go on where they were, so that a guest that waits to write over an old one finds a conflict. */
export function deleteFrom(tx: Transaction, name: SpaceName, deleting: Deleting): Emptied {
  const account = findAccount(tx, name);
  if (account === undefined) return { keys: 0, bytes: 0 };
  const range = { space: account.id, ...placesOf(deleting) };
  const { keys, bytes } = tx.get(sumRange, range) ?? { keys: 0, bytes: 0 };
  if (keys === 0) return { keys: 0, bytes: 0 };
  tx.run(deleteRange, range);
  charge(tx, { id: account.id, keys: -keys, bytes: -bytes, lastVersion: account.last_version });
  return { keys, bytes };
}

function placesOf(deleting: Deleting): Omit<Range, 'space'> {
  if (deleting.kind === 'key') return { at: deleting.key, after: deleting.key, before: deleting.key };
  const prefix = deleting.kind === 'prefix' ? deleting.prefix : ('' as StoragePrefix);
  const { from, before } = rangeOf(prefix);
  return { at: prefix, after: from, before };
}
