import { quote } from './hostile-text.ts';
import { type Problem, sentenceOf } from './result.ts';
import { KEY_RULES } from './storage-key-rules.table.ts';

/** A key in its one spelling: no two of them look or sort the same, and none climbs out of its prefix. */
export type StorageKey = string & { readonly storageKey: unique symbol };

/** A place that a grant or a list names: a key and all beneath it, or the whole space (the empty text). */
export type StoragePrefix = string & { readonly storagePrefix: unique symbol };

export type KeyFault = (typeof KEY_RULES)[number]['fault'];

export type NotKey = {
  readonly ok: false;
  readonly fault: KeyFault;
  readonly message: string;
  readonly problem: Problem;
};
export type ParsedKey = { readonly ok: true; readonly key: StorageKey } | NotKey;
export type ParsedPrefix = { readonly ok: true; readonly prefix: StoragePrefix } | NotKey;

/** Reads a key; it is refused by the name of the first rule that it breaks, never mended. */
export function parseKey(raw: string): ParsedKey {
  // Boundary: a skill chose this text; past this line it means the same to everybody.
  const broken = KEY_RULES.find(({ isBroken }) => isBroken(raw));
  if (broken === undefined) return { ok: true, key: raw as StorageKey };
  const { fault, what, expected } = broken;
  const problem = { subject: `key ${quote(raw)}`, is: what, expected };
  return { ok: false, fault, message: sentenceOf(problem), problem };
}

/** Reads `notes/` or `notes`, which are the same place, or `/`, which is the whole space. */
export function parsePrefix(raw: string): ParsedPrefix {
  if (raw === '/') return { ok: true, prefix: '' as StoragePrefix };
  const parsed = parseKey(raw.endsWith('/') ? raw.slice(0, -1) : raw);
  return parsed.ok ? { ok: true, prefix: parsed.key as string as StoragePrefix } : parsed;
}

/** Tells whether a key or a place is the prefix itself or lies beneath it; a prefix ends where a segment ends. */
export function isBeneath(place: StorageKey | StoragePrefix, prefix: StoragePrefix): boolean {
  return prefix === '' || place === prefix || place.startsWith(`${prefix}/`);
}
