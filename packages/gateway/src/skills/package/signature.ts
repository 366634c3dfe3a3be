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
import { anyText, list, looseObject, object, readJson, type Shaped } from '../../core/json-shape.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { required } from '../../core/shape.ts';
import { formatProblem } from '../../core/shape-problem.ts';
import { STATEMENT_LIMITS } from '../limits.ts';
import { type Entries, NAMED_FILE, PACKAGE_FILES, type Signer, showText } from './skill-package.ts';

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
  const identity = readStatement(envelope.payload, contents);
  if (!identity.ok) throw refusal(identity.problem);
  checkKeySignature(key);
  const { keyId, createdAt } = key.document;
  return { signer: { keyId, publicKey: key.publicKey, createdAt }, identity: identity.value };
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

const IDENTITY = object({ id: anyText, name: anyText, publisher: anyText, version: anyText });
const STATEMENT = looseObject({
  subject: required(list(NAMED_FILE)),
  predicate: required(looseObject({ skill: required(IDENTITY) })),
});

/** The identity of a skill, as in the manifest and signed by the publisher. */
export type Identity = Shaped<typeof IDENTITY>;

/** The files of a package with their digests. */
export type Contents = { readonly entries: Entries; readonly digests: ReadonlyMap<string, Digest> };

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
function readStatement(payload: Uint8Array, contents: Contents): Result<Identity, string> {
  const read = readJson(payload, STATEMENT_LIMITS, STATEMENT);
  if (!read.ok) return reject(formatProblem(read.problem, 'the signed list'));
  const { subject, predicate } = read.value;
  // Boundary: the signed bytes are the bytes that follow from the files, so no file is unsigned and no line is extra.
  const isExact = Buffer.compare(encodeStatement(contents, predicate.skill), payload) === 0;
  return isExact ? accept(predicate.skill) : reject(describeDifference(subject, contents));
}

function describeDifference(subject: Shaped<typeof STATEMENT>['subject'], contents: Contents): string {
  const listed = new Map(subject.map(({ name, digest }) => [name, digest.sha256]));
  for (const path of contents.entries.keys()) {
    if (path === PACKAGE_FILES.signature) continue;
    const digest = listed.get(path);
    if (digest === undefined) return `entry "${path}" is not in the signed list, expected every entry there`;
    if (digest !== contents.digests.get(path))
      return `entry "${path}" differs from what was signed, expected the same bytes`;
    listed.delete(path);
  }
  const [spare] = listed.keys();
  return spare === undefined
    ? 'the signed list is not in the form of a package list, expected the canonical one'
    : `the signed list has ${showText(spare)}, expected only entries of the package`;
}
