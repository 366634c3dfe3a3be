import { type Primitives, parseKeyRing } from '@palisade/sdk';

export type ReadKey =
  | { readonly ok: true; readonly key: { readonly keyId: string; readonly publicKey: Uint8Array } }
  | { readonly ok: false; readonly why: string };

/** The one key of a public key document, whose own signature holds. */
export async function readPublicKey(document: string, primitives: Primitives): Promise<ReadKey> {
  const ring = await parseKeyRing(document, primitives);
  if (!ring.ok) return { ok: false, why: ring.why };
  const [key, ...others] = ring.keys.keys.values();
  if (key === undefined || others.length > 0)
    return { ok: false, why: `there are ${others.length + (key === undefined ? 0 : 1)} keys, expected one` };
  return { ok: true, key: { keyId: key.keyId, publicKey: key.publicKey } };
}
