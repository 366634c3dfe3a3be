import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { canonicalize, type KeyDocument, keyDocumentMessage, toBase64 } from '@palisade/sdk';
import { isoTime } from '../core/clock.ts';
import { digestBytes } from '../core/digest.ts';

/* Files of the key directory: each exists whole or not at all, whenever a process ends. */

/** The suffix of a file that is still being written. */
export const UNFINISHED = '.new';

/** Written under a unique temporary name, flushed, then renamed. */
export function writeWhole(
  directory: string,
  name: string,
  contents: string | Uint8Array,
  mode: number,
): void {
  const { path, fd } = openUnfinished(join(directory, name), mode);
  try {
    writeFileSync(fd, contents);
    // Whatever the umask of this process took away.
    fchmodSync(fd, mode);
    fsyncSync(fd);
    renameSync(path, join(directory, name));
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  flushFolder(directory);
}

export function moveOver(directory: string, from: string, to: string): void {
  renameSync(join(directory, from), join(directory, to));
  flushFolder(directory);
}

export function remove(directory: string, names: readonly string[]): void {
  for (const name of names) rmSync(join(directory, name), { force: true });
  flushFolder(directory);
}

/** The names in the directory; none where it does not exist. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return [];
    throw error;
  }
}

export function readPrivate(path: string): string {
  const { mode } = statSync(path);
  // Boundary: a signing key that others could have read or written proves nothing.
  if ((mode & 0o077) !== 0) throw new TypeError(`its mode is ${(mode & 0o777).toString(8)}, expected 600`);
  return readFileSync(path, 'utf8');
}

export function openUnfinished(path: string, mode: number): { readonly path: string; readonly fd: number } {
  for (let attempt = 0; ; attempt++) {
    const unfinished = `${path}.${process.pid}-${attempt}${UNFINISHED}`;
    try {
      return { path: unfinished, fd: openSync(unfinished, 'wx', mode) };
    } catch (error) {
      // Another writer is using that name, or a crash left it.
      if ((error as { code?: string }).code !== 'EEXIST') throw error;
    }
  }
}

function flushFolder(directory: string): void {
  const folder = openSync(directory, 'r');
  fsyncSync(folder);
  closeSync(folder);
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
