import type { KeyObject } from 'node:crypto';
import type { Random } from '../core/clock.ts';
import type { Scope } from './scope.ts';
import { type Binding, markOf, seal, unseal } from './seal.ts';

/*
 * Which secrets there are, in which version and which sealing. A row that opens is not yet a row that belongs here: it
 * can be an older one that somebody kept and put back, or the only one that is left after a more specific one was taken
 * away. So this list is sealed as well, anew with each change, and a row counts only when it is the one on the list.
 */

export type Entry = { readonly version: number; readonly mark: string };
export type Inventory = ReadonlyMap<string, Entry>;

const BINDING: Binding = ['palisade-vault-inventory/v1'];

/** The place of a secret on the list. */
export function entryKey({ kind, subject }: Scope, name: string): string {
  return JSON.stringify([kind, subject, name]);
}

export function sealInventory(
  key: KeyObject,
  inventory: Inventory,
  random: Random,
): { readonly mark: string; readonly sealed: Buffer } {
  const plain = Buffer.from(JSON.stringify([...inventory].map(([id, { version, mark }]) => [id, version, mark])));
  const sealed = seal(key, plain, BINDING, random);
  return { mark: markOf(sealed), sealed };
}

/** The list, or null when it does not open. */
export function unsealInventory(key: KeyObject, sealed: Uint8Array): Inventory | null {
  const plain = unseal(key, sealed, BINDING);
  if (plain === null) return null;
  const list = JSON.parse(plain.toString('utf8')) as [string, number, string][];
  return new Map(list.map(([id, version, mark]) => [id, { version, mark }]));
}
