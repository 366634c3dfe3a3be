import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { canonicalize, type KeyDocument, keyDocumentMessage, toBase64 } from '@palisade/sdk';
import { isoTime } from '../core/clock.ts';
import { digestBytes } from '../core/digest.ts';
import { readPrivateFile } from '../store/private-file.ts';

const MAX_KEY_BYTES = 4096;

/** The text of a private key. Boundary: one that others could have read or written proves nothing. */
export function readPrivate(path: string): string {
  const bytes = readPrivateFile(path, MAX_KEY_BYTES);
  if (bytes === null) throw new TypeError('the file is missing');
  return bytes.toString('utf8');
}

/** An Ed25519 key with its id, which is the digest of the raw public key. */
export type SigningKey = {
  readonly keyId: string;
  readonly createdAt: string;
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
};

/** A DER SubjectPublicKeyInfo of Ed25519 is this many bytes of header, then the raw key. */
const SPKI_HEADER_BYTES = 12;

export function generateKey(nowMs: number): SigningKey {
  return describeKey(generateKeyPairSync('ed25519').privateKey, isoTime(nowMs));
}

/** Parses the private key file: a line with the time of creation, then PKCS#8 PEM. */
export function decodeKey(text: string): SigningKey {
  const [, createdAt, pem] = /^created: (\S+)\n([\s\S]+)$/.exec(text) ?? [];
  if (createdAt === undefined || pem === undefined)
    throw new TypeError('Cannot read key: its first line is not "created: TIME"');
  const privateKey = createPrivateKey(pem);
  if (privateKey.asymmetricKeyType !== 'ed25519') {
    throw new TypeError(`Cannot read key: it is ${privateKey.asymmetricKeyType}, expected ed25519`);
  }
  return describeKey(privateKey, createdAt);
}

export function encodeKey(key: SigningKey): string {
  return `created: ${key.createdAt}\n${key.privateKey.export({ type: 'pkcs8', format: 'pem' })}`;
}

/** The public document of a key, signed by the key itself so that no byte of it can be changed. */
export function documentOf(key: SigningKey, retiredAt: string | null): string {
  const unsigned = {
    algorithm: 'ed25519',
    createdAt: key.createdAt,
    keyId: key.keyId,
    publicKey: toBase64(key.publicKey),
    retiredAt,
    type: 'palisade-key/v1',
  } as const satisfies Omit<KeyDocument, 'signature'>;
  const signature = toBase64(sign(null, keyDocumentMessage(unsigned), key.privateKey));
  return canonicalize({ ...unsigned, signature });
}

function describeKey(privateKey: KeyObject, createdAt: string): SigningKey {
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const publicKey = new Uint8Array(spki.subarray(SPKI_HEADER_BYTES));
  return { keyId: `sha256:${digestBytes(publicKey)}`, createdAt, publicKey, privateKey };
}
