import {
  canonicalize,
  type Envelope,
  encodeEnvelope,
  fromUtf8,
  keyDocumentMessage,
  type ParsedKey,
  parseKeyDocument,
  preAuthEncoding,
  RECEIPT_PAYLOAD_TYPE,
  readEnvelope,
  STATEMENT_TYPE,
  toUtf8,
} from '@palisade/sdk';
import { nodePrimitives } from '../../attest/primitives.ts';
import { CodedError } from '../../core/coded-error.ts';
import { type Digest, digestBytes } from '../../core/digest.ts';
import type { Json } from '../../core/json.ts';
import { parseStrict } from '../../core/strict-json.ts';
import { STATEMENT_LIMITS } from '../limits.ts';
import {
  type Entries,
  listOf,
  memberOf,
  PACKAGE_FILES,
  type Signer,
  showText,
  textOf,
} from './skill-package.ts';

/** The payload type of the envelope: any in-toto statement; which one it is, the statement says itself. */
export const PACKAGE_PAYLOAD_TYPE = RECEIPT_PAYLOAD_TYPE;

type Signed = { readonly signer: Signer; readonly identity: Identity };

/** Who signed exactly these files, verified with the key in the package; null if there is no signature. */
export function verifySigner(contents: Contents): Signed | null {
  const raw = contents.entries.get(PACKAGE_FILES.signature);
  if (raw === undefined) return null;
  const key = readKey(contents.entries.get(PACKAGE_FILES.key));
  const envelope = readSignature(raw);
  // Boundary: the one signature is by the key that the package brings; no other key is looked for.
  if (envelope.keyId !== key.document.keyId) {
    throw refusal(
      `it is signed by "${envelope.keyId}", expected "${key.document.keyId}" of ${PACKAGE_FILES.key}`,
    );
  }
  const message = preAuthEncoding(envelope.payloadType, envelope.payload);
  if (!nodePrimitives.verifyEd25519(key.publicKey, envelope.signature, message)) {
    throw refusal(`the signature in ${PACKAGE_FILES.signature} does not hold, expected one by its key`);
  }
  const statement = readStatement(envelope.payload, contents);
  if (!statement.ok) throw refusal(statement.what);
  checkKeySignature(key);
  const { keyId, createdAt } = key.document;
  return { signer: { keyId, publicKey: key.publicKey, createdAt }, identity: statement.identity };
}

function readKey(raw: Uint8Array | undefined): ParsedKey {
  if (raw === undefined) throw refusal(`it has a signature and no ${PACKAGE_FILES.key}, expected both`);
  const text = fromUtf8(raw);
  if (text === null) throw refusal(`${PACKAGE_FILES.key} is not UTF-8, expected a key document`);
  const parsed = parseKeyDocument(text);
  if (!parsed.ok) throw refusal(`${PACKAGE_FILES.key}: ${parsed.detail}`);
  const { document, publicKey } = parsed.value;
  if (parsed.value.text !== text) throw refusal(`${PACKAGE_FILES.key} has spare whitespace, expected none`);
  const keyId = `sha256:${digestBytes(publicKey)}`;
  if (document.keyId !== keyId) {
    throw refusal(`${PACKAGE_FILES.key}: field "keyId" is "${document.keyId}", expected "${keyId}"`);
  }
  if (document.retiredAt !== null) {
    throw refusal(`${PACKAGE_FILES.key}: the key was retired at ${document.retiredAt}, expected one in use`);
  }
  return parsed.value;
}

/** The key has vouched for its own document, its time of making among it. */
function checkKeySignature({ document, publicKey, signature }: ParsedKey): void {
  if (nodePrimitives.verifyEd25519(publicKey, signature, keyDocumentMessage(document))) return;
  throw refusal(`${PACKAGE_FILES.key} is not signed by its own key, expected a key document as it was made`);
}

function readSignature(raw: Uint8Array): Envelope {
  const envelope = readEnvelope(raw, PACKAGE_PAYLOAD_TYPE);
  if (!envelope.ok) throw refusal(`${PACKAGE_FILES.signature}: ${envelope.detail}`);
  const { payload, payloadType, keyId, signature } = envelope.value;
  const canonical = Buffer.from(encodeEnvelope(payloadType, payload, keyId, signature));
  // Boundary: the signature itself is unsigned, so its file may have one spelling only.
  if (!canonical.equals(raw)) {
    throw refusal(`${PACKAGE_FILES.signature} has spare whitespace, expected its canonical form`);
  }
  return envelope.value;
}

function refusal(what: string): CodedError {
  return new CodedError('skill/bad-signature', `Cannot verify package: ${what}`);
}

/*
 * The list that a publisher signs: an in-toto statement with the digest and the size of every file in the package but
 * the signature itself, and whose skill it is. There is one spelling of it for a package, so a list is never
 * interpreted: the expected one is generated from the files, and the signed one must be the same bytes.
 */

const PACKAGE_PREDICATE_TYPE = 'urn:palisade:skill-package:v1';

/** The identity of a skill, as in the manifest and signed by the publisher. */
export type Identity = {
  readonly id: string;
  readonly name: string;
  readonly publisher: string;
  readonly version: string;
};

/** The files of a package with their digests. */
export type Contents = { readonly entries: Entries; readonly digests: ReadonlyMap<string, Digest> };

type StatementResult =
  | { readonly ok: true; readonly identity: Identity }
  | { readonly ok: false; readonly what: string };

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
function readStatement(payload: Uint8Array, contents: Contents): StatementResult {
  const parsed = parseStrict(payload, STATEMENT_LIMITS);
  if (!parsed.ok) return { ok: false, what: `the signed list is not valid JSON: ${parsed.message}` };
  const identity = identityOf(parsed.value);
  if (identity === null) {
    return {
      ok: false,
      what: 'the signed list does not name a skill, expected its id, name, publisher and version',
    };
  }
  // Boundary: the signed bytes are the bytes that follow from the files, so no file is unsigned and no line is extra.
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
      return `entry "${path}" differs from what was signed, expected the same bytes`;
    listed.delete(path);
  }
  const [spare] = listed.keys();
  if (spare !== undefined) {
    return `the signed list has ${showText(spare)}, expected only entries of the package`;
  }
  return 'the signed list is not in the form of a package list, expected the canonical one';
}
