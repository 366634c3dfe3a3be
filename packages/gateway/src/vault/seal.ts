import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import { canonicalize } from '@palisade/sdk';
import type { Random } from '../core/clock.ts';

/* AES-256-GCM: a nonce, the ciphertext and its tag in one run of bytes, bound to what it is. */

/** What the sealed bytes are and where they belong; the first word names the format, so that no two kinds can meet. */
export type Binding = readonly [format: string, ...parts: (string | number)[]];

const CIPHER = 'aes-256-gcm';
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals under a nonce of its own, so that the same value never looks the same twice. */
export function seal(key: KeyObject, plain: Uint8Array, binding: Binding, random: Random): Buffer {
  const nonce = random.bytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(canonicalize(binding)));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** What was sealed, or null: another key, another place, or a changed bit. */
export function unseal(key: KeyObject, sealed: Uint8Array, binding: Binding): Buffer | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
  const tagAt = sealed.length - TAG_BYTES;
  // Boundary: a tag of full length is demanded; a shorter one could be guessed.
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(canonicalize(binding)));
  decipher.setAuthTag(sealed.subarray(tagAt));
  const plain = decipher.update(sealed.subarray(NONCE_BYTES, tagAt));
  try {
    // Boundary: nothing of it is handed on before the tag was found right.
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    return null;
  } finally {
    plain.fill(0);
  }
}

/** Tells one sealing from every other under the same key. */
export function markOf(sealed: Uint8Array): string {
  return Buffer.from(sealed.subarray(0, NONCE_BYTES)).toString('base64');
}
