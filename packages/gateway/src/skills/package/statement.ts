import { canonicalize, STATEMENT_TYPE, toUtf8 } from '@palisade/sdk';
import type { Digest } from '../../core/digest.ts';
import type { Json } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import { listOf, memberOf, showText, textOf } from './json-parts.ts';
import { type Entries, PACKAGE_FILES } from './skill-package.ts';

/*
 * The list that a publisher signs: an in-toto statement with the digest and the size of every file in the package but
 * the signature itself, and whose skill it is. There is one spelling of it for a package, so a list is never
 * interpreted: the one that should be there is made from the files, and the signed one has to be the same bytes.
 */

export const PACKAGE_PREDICATE_TYPE = 'urn:palisade:skill-package:v1';

/** Who a skill is, as the manifest says it and the publisher signs it. */
export type Identity = {
  readonly id: string;
  readonly name: string;
  readonly publisher: string;
  readonly version: string;
};

/** The files of a package with their digests. */
export type Contents = { readonly entries: Entries; readonly digests: ReadonlyMap<string, Digest> };

export type StatementResult =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly what: string };

/** Far above the list of as many entries as a package may have. */
const STATEMENT_LIMITS = { maxBytes: 1024 * 1024, maxDepth: 8 };

/** The one statement about these files as a skill of this identity. */
export function encodeStatement({ entries, digests }: Contents, identity: Identity): Uint8Array {
  const { id, name, publisher, version } = identity;
  const listed = [...entries].filter(([path]) => path !== PACKAGE_FILES.signature);
  return toUtf8(
    canonicalize({
      _type: STATEMENT_TYPE,
      subject: listed.map(([path]) => ({ name: path, digest: { sha256: digests.get(path) } })),
      predicateType: PACKAGE_PREDICATE_TYPE,
      predicate: {
        skill: { id, name, publisher, version },
        sizes: listed.map(([path, contents]) => ({ name: path, bytes: contents.length })),
      },
    }),
  );
}

/** Whose statement it is, when it is the one about exactly these files; else where it differs from that. */
export function readStatement(payload: Uint8Array, contents: Contents): StatementResult {
  const parsed = parseStrict(payload, STATEMENT_LIMITS);
  if (!parsed.ok) return { ok: false, what: `the signed list is no JSON: ${parsed.message}` };
  const identity = identityOf(parsed.value);
  if (identity === null) {
    return {
      ok: false,
      what: 'the signed list names no skill, expected its id, name, publisher and version',
    };
  }
  // Boundary: the signed bytes are the bytes that follow from the files, so no file is unsigned and no line is spare.
  if (Buffer.compare(encodeStatement(contents, identity), payload) === 0) return { ok: true, identity };
  return { ok: false, what: describeDifference(parsed.value, contents) };
}

function identityOf(statement: Json): Identity | null {
  const skill = memberOf(memberOf(statement, 'predicate'), 'skill');
  const [id, name, publisher, version] = ['id', 'name', 'publisher', 'version'].map((key) =>
    textOf(skill, key),
  );
  if (typeof id !== 'string' || typeof name !== 'string') return null;
  if (typeof publisher !== 'string' || typeof version !== 'string') return null;
  return { id, name, publisher, version };
}

function describeDifference(statement: Json, { entries, digests }: Contents): string {
  const listed = new Map<string, string | null>();
  for (const subject of listOf(statement, 'subject')) {
    listed.set(textOf(subject, 'name') ?? '', textOf(memberOf(subject, 'digest'), 'sha256'));
  }
  for (const path of entries.keys()) {
    if (path === PACKAGE_FILES.signature) continue;
    const digest = listed.get(path);
    if (digest === undefined) return `entry "${path}" is not in the signed list, expected every entry there`;
    if (digest !== digests.get(path))
      return `entry "${path}" has other bytes than were signed, expected the same`;
    listed.delete(path);
  }
  const [spare] = listed.keys();
  if (spare !== undefined) {
    return `the signed list has ${showText(spare)}, expected only entries of the package`;
  }
  return 'the signed list is not in the form of a package list, expected the canonical one';
}
