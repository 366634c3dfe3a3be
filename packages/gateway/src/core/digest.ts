import { hash } from 'node:crypto';
import { canonicalize } from '@palisade/sdk';

/** A SHA-256 digest in lower-case hexadecimal, created only here. */
export type Digest = string & { readonly digest: unique symbol };

export function digestBytes(bytes: Uint8Array | string): Digest {
  return hash('sha256', bytes, 'hex') as Digest;
}

/** The digest of a value in its canonical encoding. */
export function digestValue(value: unknown): Digest {
  return digestBytes(canonicalize(value));
}
