import { type Digest, digestBytes } from '../../core/digest.ts';
import { inert } from '../../core/hostile-text.ts';
import { anyText, looseObject, readJson } from '../../core/json-shape.ts';
import { type Result, reject } from '../../core/result.ts';
import { required, type Shape } from '../../core/shape.ts';
import { formatProblem } from '../../core/shape-problem.ts';
import type { StrictLimits } from '../../core/strict-json.ts';
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

/** Where the answers to the requests of its test cases are. */
export const FIXTURES_FILE = 'fixtures/http.json';

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

/** A file with its digest, in the form of in-toto. */
export const NAMED_FILE = looseObject({
  name: required(anyText),
  digest: required(looseObject({ sha256: required(anyText) })),
});

/** Reads a JSON document of a package: its value, or a sentence that says why that cannot be done. */
export function readDocument<T>(
  { entries }: SkillPackage,
  path: string,
  limits: StrictLimits,
  shape: Shape<T>,
): Result<T, string> {
  const bytes = entries.get(path);
  if (bytes === undefined) return reject(`The package has no ${path}.`);
  const read = readJson(bytes, limits, shape);
  return read.ok ? read : reject(`${formatProblem(read.problem, path)}.`);
}

type Files = Iterable<readonly [path: string, digest: string]>;

/** Every file that a document names is in the package with that digest, and every file that it should name is there. */
export function fileDifferences(named: Files, expected: Files, { digests }: SkillPackage): readonly string[] {
  const found = new Map(named);
  const wrong = [...named].flatMap(([path, is]) => {
    const digest = digests.get(path);
    if (digest === undefined) return [`It names ${showText(path)}, which the package lacks.`];
    return is === digest ? [] : [`Its digest of "${path}" is ${showText(is)}, expected "${digest}".`];
  });
  const missing = [...expected].filter(([path]) => !found.has(path));
  return [...wrong, ...missing.map(([path]) => `It does not name "${path}".`)];
}

const SHOWN_CHARS = 80;

/** An untrusted text for a message. */
export function showText(text: string | null): string {
  return text === null ? 'missing' : JSON.stringify(inert(text.slice(0, SHOWN_CHARS)));
}
