import {
  type Envelope,
  encodeEnvelope,
  fromUtf8,
  keyDocumentMessage,
  type ParsedKey,
  parseKeyDocument,
  preAuthEncoding,
  RECEIPT_PAYLOAD_TYPE,
  readEnvelope,
} from '@palisade/sdk';
import { nodePrimitives } from '../../attest/primitives.ts';
import { CodedError } from '../../core/coded-error.ts';
import { digestBytes } from '../../core/digest.ts';
import { PACKAGE_FILES, type Signer } from './skill-package.ts';
import { type Contents, type Identity, readStatement } from './statement.ts';

/** The type of what the envelope holds: any in-toto statement; which one it is, the statement says itself. */
export const PACKAGE_PAYLOAD_TYPE = RECEIPT_PAYLOAD_TYPE;

export type Signed = { readonly signer: Signer; readonly identity: Identity };

/** Who signed exactly these files, verified with the key that they bring along; null: there is no signature. */
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
  // Boundary: nothing signs the signature, so its file may have one spelling only.
  if (!canonical.equals(raw)) {
    throw refusal(`${PACKAGE_FILES.signature} has spare whitespace, expected its canonical form`);
  }
  return envelope.value;
}

function refusal(what: string): CodedError {
  return new CodedError('skill/bad-signature', `Cannot verify package: ${what}`);
}
