import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import type { Primitives } from '@palisade/sdk';
import { cached } from '../core/cached.ts';

/** Every Ed25519 public key in DER starts with these bytes (RFC 8410). */
const SPKI_HEADER = Buffer.from('302a300506032b6570032100', 'hex');
const MAX_KEYS = 64;
const known = new Map<string, KeyObject>();

/** Node's own primitives: the verifier of the sdk runs on them without a thread hop per hash. */
export const nodePrimitives = {
  sha256: (bytes) => hash('sha256', bytes, 'buffer'),
  verifyEd25519: (publicKey, signature, message): boolean =>
    verify(null, message, keyOf(publicKey), signature),
} satisfies Primitives;

function keyOf(publicKey: Uint8Array): KeyObject {
  const key = Buffer.concat([SPKI_HEADER, publicKey]);
  const make = () => createPublicKey({ key, format: 'der', type: 'spki' });
  return cached(known, key.toString('latin1'), make, MAX_KEYS);
}
