import type { Digest } from '../../core/digest.ts';
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
