import { readText } from './document.ts';
import type { Envelope } from './envelope.ts';
import { preAuthEncoding } from './envelope.ts';
import { type RingKey, readKeyDocument } from './key-document.ts';
import { type Primitives, webPrimitives } from './primitives.ts';
import { type Found, found, judge, missed } from './report.ts';

/** The keys a verifier trusts, by key id. The choice of the key file is the choice of whom to trust. */
export type KeyRing = { readonly keys: ReadonlyMap<string, RingKey> };

export type KeyRingResult =
  | { readonly ok: true; readonly keys: KeyRing }
  | { readonly ok: false; readonly line: number; readonly why: string };

/** Reads a key file: one per line, or one over several lines. One bad document invalidates the file. */
export async function parseKeyRing(
  raw: string | Uint8Array,
  primitives: Primitives = webPrimitives,
): Promise<KeyRingResult> {
  const read = readText(raw);
  if (!read.ok) return { ok: false, line: 1, why: read.detail };
  const documents = isOneDocument(read.value) ? [read.value] : splitLines(read.value);
  const keys = new Map<string, RingKey>();
  const seen = new Map<string, string>();
  for (const [index, document] of documents.entries()) {
    const key = await attempt(() => readKeyDocument(document, primitives));
    if (!key.ok) return { ok: false, line: index + 1, why: key.detail };
    const clash = addKey(keys, seen, key.value);
    if (clash !== null) return { ok: false, line: index + 1, why: clash };
  }
  return { ok: true, keys: { keys } };
}

/** The key that signed an envelope, if it is in the ring. */
export function findKey(keys: KeyRing, envelope: Envelope): Found<RingKey> {
  const key = keys.keys.get(envelope.keyId);
  if (key !== undefined) return found(key, `signed by "${envelope.keyId}"`);
  return missed(
    `field "signatures.0.keyid" is "${envelope.keyId}", expected one of the ${keys.keys.size} keys that are trusted`,
  );
}

/** Whether the key signed exactly this payload under exactly this type. */
export function verifySignature(
  key: RingKey,
  envelope: Envelope,
  primitives: Primitives,
): Promise<Found<true>> {
  return attempt(async () => {
    const message = preAuthEncoding(envelope.payloadType, envelope.payload);
    const valid = await primitives.verifyEd25519(key.publicKey, envelope.signature, message);
    return judge(
      valid,
      'Ed25519 over the payload and its type',
      'field "signatures.0.sig" does not fit the payload',
    );
  });
}

/** Whether the key had been created and not yet retired at an instant. */
export function keyInUse(key: RingKey, at: string): Found<true> {
  if (at < key.createdAt) return missed(`"${at}" is before the key was created at "${key.createdAt}"`);
  if (key.retiredAt !== null && at > key.retiredAt) {
    return missed(`"${at}" is after the key was retired at "${key.retiredAt}"`);
  }
  return found(true, `in use since "${key.createdAt}"`);
}

/** A platform without a primitive verifies nothing; it does not crash its caller. */
export async function attempt<T>(step: () => Promise<Found<T>>): Promise<Found<T>> {
  try {
    return await step();
  } catch (error) {
    return missed(
      `the cryptography of this platform failed: ${error instanceof Error ? error.message : 'unknown'}`,
    );
  }
}

/** One key may have one document in use and one retired; the retired one counts. Returns the conflict, or null. */
function addKey(keys: Map<string, RingKey>, seen: Map<string, string>, key: RingKey): string | null {
  const state = key.retiredAt === null ? 'in use' : 'retired';
  const slot = `${key.keyId} ${state}`;
  const earlier = seen.get(slot);
  if (earlier !== undefined && earlier !== key.text) {
    return `key "${key.keyId}" has two different documents that are ${state}, expected one`;
  }
  seen.set(slot, key.text);
  if (key.retiredAt !== null || !keys.has(key.keyId)) keys.set(key.keyId, key);
  return null;
}

function isOneDocument(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function splitLines(text: string): string[] {
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}
