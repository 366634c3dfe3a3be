import { parsePrefix, type StoragePrefix } from '../../src/core/storage-key.ts';
import { Space, type StorageGrants } from '../../src/storage/space.ts';
import { findAccount, type SpaceName, storageMigrations } from '../../src/storage/tables.ts';
import type { Quota } from '../../src/storage/values.ts';
import type { Store } from '../../src/store/store.ts';
import { openStore } from '../budget/temp-store.ts';
import { tempDir } from '../fixture/temp-dir.ts';

export const HOME = { tenant: 'acme', skill: 'notebook' } as const;

type Wanted = {
  tenant?: string;
  skill?: string;
  quota?: Quota;
  read?: readonly string[];
  write?: readonly string[];
};

/** A database with the tables of storage, closed with the test. */
export function storageStore(directory: string = tempDir()): Store {
  return openStore(directory, storageMigrations);
}

/** A space that may do everything, unless told otherwise. */
export function spaceIn(store: Store, { read = ['/'], write = ['/'], ...terms }: Wanted = {}): Space {
  const grants: StorageGrants = { read: read.map(prefixOf), write: write.map(prefixOf) };
  return new Space(store, { ...HOME, ...terms, grants });
}

export function prefixOf(raw: string): StoragePrefix {
  const parsed = parsePrefix(raw);
  if (!parsed.ok) throw new Error(parsed.problem.is);
  return parsed.value;
}

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}

/** The text and version under a key; null when there is none. A refusal fails the test. */
export async function textAt(space: Space, key: string): Promise<[text: string, version: number] | null> {
  const got = await space.get(key);
  if (!got.ok) throw new Error(got.message);
  return got.found && [Buffer.from(got.found.value).toString(), got.found.version];
}

/** The version that a put was given. A refusal fails the test. */
export async function putText(space: Space, key: string, text: string): Promise<number> {
  const put = await space.put(key, bytesOf(text));
  if (!put.ok) throw new Error(put.message);
  return put.version;
}

/** All keys at and beneath a prefix, read page by page. */
export async function keysAt(space: Space, prefix: string, limit = 100): Promise<string[]> {
  const keys: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await space.list(prefix, after === undefined ? { limit } : { after, limit });
    if (!page.ok) throw new Error(page.message);
    keys.push(...page.entries.map(({ key }) => key));
    if (page.next === null) return keys;
    after = page.next;
  }
}

/** What a space holds now. */
export function usageOf(store: Store, name: SpaceName): { readonly bytes: number; readonly keys: number } {
  const { bytes, keys } = findAccount(store, name) ?? { bytes: 0, keys: 0 };
  return { bytes, keys };
}
