import { fromBase64, toHex, toUtf8 } from './bytes.ts';
import { canonicalize } from './canonical.ts';
import { readDocument } from './document.ts';
import { keyId } from './envelope.ts';
import type { Primitives } from './primitives.ts';
import { type Found, found, missed } from './report.ts';
import { constant, describeMismatch, instant, nullable, objectOf, type Shape, text } from './shape.ts';

export const KEY_DOCUMENT_TYPE = 'palisade-key/v1';

/** The public half of a signing key with the time it was in use, signed by the key itself. */
export type KeyDocument = {
  readonly algorithm: 'ed25519';
  readonly createdAt: string;
  readonly keyId: string;
  readonly publicKey: string;
  readonly retiredAt: string | null;
  readonly signature: string;
  readonly type: typeof KEY_DOCUMENT_TYPE;
};

/** A key document that was checked, with its bytes. */
export type RingKey = {
  readonly keyId: string;
  readonly publicKey: Uint8Array;
  readonly createdAt: string;
  readonly retiredAt: string | null;
  /** The canonical text of the document, which distinguishes two documents of one key. */
  readonly text: string;
};

const KEY_DOCUMENT: Shape = objectOf({
  algorithm: constant('ed25519'),
  createdAt: instant,
  keyId,
  publicKey: text,
  retiredAt: nullable(instant),
  signature: text,
  type: constant(KEY_DOCUMENT_TYPE),
});

const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** The bytes a key signs to vouch for its own document. The first line keeps them apart from any other signed text. */
export function keyDocumentMessage(document: Omit<KeyDocument, 'signature'>): Uint8Array {
  const { algorithm, createdAt, keyId, publicKey, retiredAt, type } = document;
  const unsigned = canonicalize({ algorithm, createdAt, keyId, publicKey, retiredAt, type });
  return toUtf8(`${KEY_DOCUMENT_TYPE}\n${unsigned}`);
}

/** A key document in its form, with its bytes decoded; its id and its signature are not checked yet. */
export type ParsedKey = {
  readonly document: KeyDocument;
  readonly publicKey: Uint8Array;
  readonly signature: Uint8Array;
  /** The canonical text of the document. */
  readonly text: string;
};

/** Reads the form of one document; for callers that check its id and signature themselves. */
export function parseKeyDocument(raw: string): Found<ParsedKey> {
  const document = readDocument(raw);
  if (!document.ok) return document;
  const mismatch = KEY_DOCUMENT(document.value.value);
  if (mismatch !== null) return missed(describeMismatch(mismatch));
  const key = document.value.value as KeyDocument;
  const publicKey = fromBase64(key.publicKey);
  if (publicKey?.length !== PUBLIC_KEY_BYTES) return missed(notBase64('publicKey', PUBLIC_KEY_BYTES));
  const signature = fromBase64(key.signature);
  if (signature?.length !== SIGNATURE_BYTES) return missed(notBase64('signature', SIGNATURE_BYTES));
  if (key.retiredAt !== null && key.retiredAt < key.createdAt) {
    return missed(`field "retiredAt" is "${key.retiredAt}", expected no earlier than "${key.createdAt}"`);
  }
  return found({ document: key, publicKey, signature, text: document.value.text }, key.keyId);
}

/** Reads one document; the value is a key whose id, dates and own signature are valid. */
export async function readKeyDocument(raw: string, primitives: Primitives): Promise<Found<RingKey>> {
  const parsed = parseKeyDocument(raw);
  if (!parsed.ok) return parsed;
  const { document, publicKey, signature, text } = parsed.value;
  const id = await keyIdOf(publicKey, primitives);
  if (document.keyId !== id) return missed(`field "keyId" is "${document.keyId}", expected "${id}"`);
  if (!(await primitives.verifyEd25519(publicKey, signature, keyDocumentMessage(document)))) {
    return missed('field "signature" is not the signature of this document by this key');
  }
  const { createdAt, retiredAt } = document;
  return found({ keyId: id, publicKey, createdAt, retiredAt, text }, id);
}

/** The id of a key: the SHA-256 of its raw public half. */
export async function keyIdOf(publicKey: Uint8Array, primitives: Primitives): Promise<string> {
  return `sha256:${toHex(await primitives.sha256(publicKey))}`;
}

function notBase64(field: string, bytes: number): string {
  return `field "${field}" is not the canonical base64 of ${bytes} bytes`;
}
