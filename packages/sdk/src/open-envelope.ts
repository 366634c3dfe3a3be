import { fromUtf8 } from './bytes.ts';
import { readCanonical } from './document.ts';
import type { Envelope } from './envelope.ts';
import type { RingKey } from './key-document.ts';
import { findKey, type KeyRing, verifySignature } from './key-ring.ts';
import type { Primitives } from './primitives.ts';
import { type Check, type Found, found, missed, note } from './report.ts';
import { describeMismatch, type Shape } from './shape.ts';

/** One verification in progress: what it trusts and what it has found so far. */
export type Verification = {
  readonly checks: Check[];
  readonly keys: KeyRing;
  readonly primitives: Primitives;
};

/** The expected contents of an envelope. */
export type Expected = { readonly what: string; readonly shape: Shape };

/** A payload that a known key signed, in its shape, with the key. */
export type Opened = { readonly key: RingKey; readonly payload: Uint8Array; readonly value: unknown };

/** Opens an envelope check by check; null if one fails. The payload is parsed only once its signer is known. */
export async function openEnvelope(
  { checks, keys, primitives }: Verification,
  read: Found<Envelope>,
  { what, shape }: Expected,
): Promise<Opened | null> {
  const envelope = note(checks, `The ${what} is a DSSE envelope`, read);
  if (envelope === null) return null;
  const key = note(checks, `The key of the ${what} is known`, findKey(keys, envelope));
  if (key === null) return null;
  const signature = await verifySignature(key, envelope, primitives);
  if (note(checks, `The signature of the ${what} is valid`, signature) === null) return null;
  const payload = note(checks, `The payload of the ${what} is canonical`, readPayload(envelope.payload));
  if (payload === null) return null;
  const value = note(checks, `The payload is in the form of a ${what}`, compare(payload.value, shape));
  return value === null ? null : { key, payload: envelope.payload, value: payload.value };
}

function readPayload(payload: Uint8Array): Found<{ readonly value: unknown }> {
  const text = fromUtf8(payload);
  return text === null ? missed('the payload is not valid UTF-8') : readCanonical(text);
}

function compare(value: unknown, shape: Shape): Found<true> {
  const mismatch = shape(value);
  return mismatch === null ? found(true, 'every field and no other') : missed(describeMismatch(mismatch));
}
