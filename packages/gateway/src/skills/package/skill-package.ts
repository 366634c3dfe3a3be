import { type Digest, digestBytes } from '../../core/digest.ts';
import { inert } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import type { Manifest } from '../manifest/manifest.ts';

/** Files of a package by their paths, in the order of their paths. */
export type Entries = ReadonlyMap<string, Uint8Array>;

/** The files that every package has, and those that are made when it is packed and signed. */
export const PACKAGE_FILES = {
  manifest: 'skill.toml',
  prose: 'SKILL.md',
  bom: 'sbom.cdx.json',
  provenance: 'provenance.json',
  key: 'publisher.key.json',
  signature: 'signature.dsse.json',
} as const;

/** Where the test cases of a package are. */
export const CASES_FOLDER = 'tests/';

/** A package whose archive is sound, whose manifest can be read, and whose signature, if it has one, is over every other byte. */
export type SkillPackage = {
  /** Of the whole archive. */
  readonly artifact: Digest;
  readonly entries: Entries;
  readonly manifest: Manifest;
  /** Of each entry. */
  readonly digests: ReadonlyMap<string, Digest>;
  /** Null: it is not signed. Whether the key may be trusted is for the trust store. */
  readonly signer: Signer | null;
};

/** Who signed: the key is the one that the package brings along, and the signature was verified with it. */
export type Signer = { readonly keyId: string; readonly publicKey: Uint8Array; readonly createdAt: string };

/** The digest of each entry, in the order of the entries. */
export function digestsOf(entries: Entries): ReadonlyMap<string, Digest> {
  return new Map(Array.from(entries, ([path, contents]) => [path, digestBytes(contents)]));
}

/** The modules of a package with their digests, in the order of their paths. */
export function modulesOf(digests: ReadonlyMap<string, Digest>): readonly (readonly [string, Digest])[] {
  return [...digests].filter(([path]) => path.toLowerCase().endsWith('.wasm'));
}

/* Reads untrusted JSON: a member that is missing or of another type is null and never an error. */

const SHOWN_CHARS = 80;

/** A member of an object; null if missing. */
export function memberOf(value: Json, key: string): Json {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  const object = value as { readonly [key: string]: Json };
  return Object.hasOwn(object, key) ? (object[key] ?? null) : null;
}

/** A member that is text. */
export function textOf(value: Json, key: string): string | null {
  const member = memberOf(value, key);
  return typeof member === 'string' ? member : null;
}

/** A member that is an array; empty if it is not one. */
export function listOf(value: Json, key: string): readonly Json[] {
  const member = memberOf(value, key);
  return Array.isArray(member) ? member : [];
}

/** An untrusted text for a message. */
export function showText(text: string | null): string {
  return text === null ? 'missing' : JSON.stringify(inert(text.slice(0, SHOWN_CHARS)));
}
