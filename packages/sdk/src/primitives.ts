import { toHex } from './bytes.ts';

/** The two primitives everything here depends on. They are passed in, so that a server can use faster ones. */
export type Primitives = {
  readonly sha256: (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;
  readonly verifyEd25519: (
    publicKey: Uint8Array,
    signature: Uint8Array,
    message: Uint8Array,
  ) => boolean | Promise<boolean>;
};

type ImportedKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** More keys than one verifier uses in practice; beyond it the oldest import is dropped. */
const MAX_IMPORTED_KEYS = 64;
const importedKeys = new Map<string, Promise<ImportedKey>>();

/** WebCrypto, as browsers and Node have it. */
export const webPrimitives: Primitives = {
  async sha256(bytes) {
    return new Uint8Array(await crypto.subtle.digest('SHA-256', ownBytes(bytes)));
  },
  async verifyEd25519(publicKey, signature, message) {
    const key = await importKey(publicKey);
    return crypto.subtle.verify('Ed25519', key, ownBytes(signature), ownBytes(message));
  },
};

function importKey(publicKey: Uint8Array): Promise<ImportedKey> {
  // The cache is keyed by the bytes, not by the array, which its owner could change.
  const name = toHex(publicKey);
  const known = importedKeys.get(name);
  if (known !== undefined) return known;
  const [oldest] = importedKeys.keys();
  if (importedKeys.size >= MAX_IMPORTED_KEYS && oldest !== undefined) importedKeys.delete(oldest);
  const key = crypto.subtle.importKey('raw', ownBytes(publicKey), 'Ed25519', false, ['verify']);
  importedKeys.set(name, key);
  key.catch(() => importedKeys.delete(name));
  return key;
}

/** WebCrypto refuses bytes in shared memory, which could change under it. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
