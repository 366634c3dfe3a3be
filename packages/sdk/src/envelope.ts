import { fromBase64, toBase64, toUtf8 } from './bytes.ts';
import { canonicalize } from './canonical.ts';
import { readDocument, readText } from './document.ts';
import { type Found, found, missed, quote } from './report.ts';
import { describeMismatch, matching, objectOf, type Shape, text, tuple } from './shape.ts';

/** A DSSE envelope with its one signature, decoded. */
export type Envelope = {
  readonly payloadType: string;
  readonly payload: Uint8Array;
  readonly keyId: string;
  readonly signature: Uint8Array;
};

export const keyId: Shape = matching(
  /^sha256:[0-9a-f]{64}$/,
  '"sha256:" and 64 lower-case hexadecimal digits',
);

const ENVELOPE: Shape = objectOf({
  payload: text,
  payloadType: text,
  signatures: tuple([objectOf({ keyid: keyId, sig: text })], 1),
});

const SIGNATURE_BYTES = 64;

/** The bytes that DSSE v1 signs: they bind the payload to its type. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const typeBytes = toUtf8(payloadType).length;
  const head = toUtf8(`DSSEv1 ${typeBytes} ${payloadType} ${payload.length} `);
  const message = new Uint8Array(head.length + payload.length);
  message.set(head);
  message.set(payload, head.length);
  return message;
}

/** The canonical text of an envelope, without a line feed. */
export function encodeEnvelope(
  payloadType: string,
  payload: Uint8Array,
  keyid: string,
  sig: Uint8Array,
): string {
  return canonicalize({
    payload: toBase64(payload),
    payloadType,
    signatures: [{ keyid, sig: toBase64(sig) }],
  });
}

/** The envelope in a text of one of our types; nothing about it is trusted yet. */
export function readEnvelope(raw: string | Uint8Array, payloadType: string): Found<Envelope> {
  const read = readText(raw);
  if (!read.ok) return read;
  const document = readDocument(read.value);
  return document.ok ? parseEnvelope(document.value.value, payloadType) : document;
}

/** The envelope in a parsed value that came from canonical text. */
export function parseEnvelope(value: unknown, payloadType: string): Found<Envelope> {
  const mismatch = ENVELOPE(value);
  if (mismatch !== null) return missed(describeMismatch(mismatch));
  const raw = value as RawEnvelope;
  if (raw.payloadType !== payloadType) {
    return missed(`field "payloadType" is ${quote(raw.payloadType)}, expected ${quote(payloadType)}`);
  }
  const payload = fromBase64(raw.payload);
  if (payload === null) return missed('field "payload" is not the canonical base64 of any bytes');
  const signature = fromBase64(raw.signatures[0].sig);
  if (signature?.length !== SIGNATURE_BYTES) {
    return missed(`field "signatures.0.sig" is not the canonical base64 of ${SIGNATURE_BYTES} bytes`);
  }
  const envelope = { payloadType, payload, keyId: raw.signatures[0].keyid, signature };
  return found(envelope, `DSSE envelope of type "${payloadType}" with ${payload.length} bytes of payload`);
}

type RawEnvelope = {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly [{ readonly keyid: string; readonly sig: string }];
};
