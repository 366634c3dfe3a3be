import { isUtf8 } from 'node:buffer';
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, scrypt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { canonicalize } from '@palisade/sdk';
import type { Random } from '../core/clock.ts';
import { digestBytes } from '../core/digest.ts';
import { storeErrorOf } from '../store/fault-of.ts';
import { readPrivateFile, UnfitFile } from '../store/private-file.ts';
import { namesIn, removeFiles, UNFINISHED, writeWhole } from '../store/whole-file.ts';
import { locked, misused } from './secret.ts';

/* AES-256-GCM: a nonce, the ciphertext and its tag in one sequence of bytes, bound to its context. */

/** What the sealed bytes are and where they belong; the first element names the format and keeps kinds apart. */
export type Binding = readonly [format: string, ...parts: (string | number)[]];

const CIPHER = 'aes-256-gcm';
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals under a fresh nonce, so that the same value never looks the same twice. */
export function seal(key: KeyObject, plain: Uint8Array, binding: Binding, random: Random): Buffer {
  const nonce = random.bytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(canonicalize(binding)));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** What was sealed, or null: another key, another binding, or a changed bit. */
export function unseal(key: KeyObject, sealed: Uint8Array, binding: Binding): Buffer | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
  const tagAt = sealed.length - TAG_BYTES;
  // Boundary: a tag of full length is required; a shorter one could be guessed.
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(canonicalize(binding)));
  decipher.setAuthTag(sealed.subarray(tagAt));
  const plain = decipher.update(sealed.subarray(NONCE_BYTES, tagAt));
  try {
    // Boundary: nothing is returned before the tag is verified.
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    return null;
  } finally {
    plain.fill(0);
  }
}

/** Distinguishes one sealing from every other under the same key. */
export function markOf(sealed: Uint8Array): string {
  return Buffer.from(sealed.subarray(0, NONCE_BYTES)).toString('base64');
}

/*
 * The key file: a line for each key, its id and itself in hexadecimal. There is one line except during a rotation,
 * which adds the new key before the database needs it and removes the old one when the database no longer does. So
 * whenever a process ends, the key that the database names is in the file. Callers hold the write lock of the store
 * while they change it; otherwise two of them would each write the file without the key of the other.
 */

export type KeySource = {
  /** The key of that id; null where it does not exist. */
  readonly read: (id: string) => Uint8Array | null;
  /** Adds a key and returns its id; durable when it returns, and no existing one is lost. */
  readonly add: (key: Uint8Array) => string;
  /** Deletes all keys except that one; null: all. */
  readonly keepOnly: (id: string | null) => void;
};

const NAME = 'vault.key';
const LINE = /^([0-9a-f]{16}) ([0-9a-f]{64})$/;
const MAX_BYTES = 64 * 1024;

type Keys = ReadonlyMap<string, Uint8Array>;

/** The keys in `vault.key` of this directory, which is created with the first one. */
export function keyFileIn(directory: string): KeySource {
  const path = join(directory, NAME);
  return {
    read: (id) => readKeys(path).get(id) ?? null,
    add: (key) => {
      const id = idOf(key);
      attempt(path, () => mkdirSync(directory, { recursive: true, mode: 0o700 }));
      writeKeys(path, directory, new Map([...readKeys(path), [id, key]]));
      return id;
    },
    keepOnly: (id) => {
      const kept = id === null ? undefined : readKeys(path).get(id);
      if (id !== null && kept !== undefined) writeKeys(path, directory, new Map([[id, kept]]));
      // A file that a crash left incomplete contains a key, too.
      const isLeft = (name: string) =>
        (name === NAME && id === null) || (name.startsWith(`${NAME}.`) && name.endsWith(UNFINISHED));
      const left = namesIn(directory).filter(isLeft);
      if (left.length > 0) attempt(path, () => removeFiles(directory, left));
    },
  };
}

function readKeys(path: string): Keys {
  const keys = new Map<string, Uint8Array>();
  for (const line of linesOf(path)) {
    const [, id, hex] = LINE.exec(line) ?? [];
    const key = Buffer.from(hex ?? '', 'hex');
    if (id === undefined || idOf(key) !== id) {
      throw locked(`the key file "${path}" is damaged, expected a line with an id and a key`);
    }
    keys.set(id, key);
  }
  return keys;
}

function linesOf(path: string): string[] {
  const remedy =
    'Make it a file of your own with mode 0600. If others could read it, run `palisade secrets rotate` then.';
  const bytes = readOr(path, MAX_BYTES, (is) =>
    locked(`the key file "${path}" cannot be used: ${is}`, remedy),
  );
  return (bytes?.toString('latin1') ?? '').split('\n').filter((line) => line !== '');
}

/** The bytes of a private file; null where it does not exist. */
function readOr(path: string, maxBytes: number, refusal: (is: string) => Error): Buffer | null {
  try {
    return readPrivateFile(path, maxBytes);
  } catch (error) {
    throw error instanceof UnfitFile ? refusal(error.message) : error;
  }
}

function writeKeys(path: string, directory: string, keys: Keys): void {
  const text = [...keys].map(([id, key]) => `${id} ${Buffer.from(key).toString('hex')}\n`).join('');
  attempt(path, () => writeWhole(directory, NAME, text, 0o600));
}

function attempt(path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw storeErrorOf(error, `write "${path}"`);
  }
}

/** Identifies a key without revealing anything about it. */
function idOf(key: Uint8Array): string {
  return digestBytes(Buffer.concat([Buffer.from('palisade-vault-key-id\0'), key])).slice(0, 16);
}

/** Shorter ones can be found by brute force, which scrypt only slows down. */
const MIN_CHARS = 12;
const MAX_CHARS = 1024;
const MAX_FILE_BYTES = 8 * 1024;
export const SALT_BYTES = 16;

/** 128 MiB and some tenths of a second for each attempt; a part of the format, so never read from the database. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

const derive = promisify<string, Uint8Array, number, typeof COST, Buffer>(scrypt);

export async function keyOfPassphrase(passphrase: string, salt: Uint8Array): Promise<KeyObject> {
  // The same passphrase, however the keyboard composes its letters.
  const raw = await derive(passphrase.normalize('NFC'), salt, KEY_BYTES, COST);
  const key = createSecretKey(raw);
  raw.fill(0);
  return key;
}

export function checkNewPassphrase(passphrase: string): void {
  const { length } = [...passphrase.normalize('NFC')];
  if (length >= MIN_CHARS && length <= MAX_CHARS) return;
  throw misused(
    `Cannot use the passphrase: it has ${length} characters, expected ${MIN_CHARS} to ${MAX_CHARS}`,
    'Choose several words that nobody would put together.',
  );
}

/** The first line of a private file. */
export function readPassphraseFile(path: string): string {
  const bytes = readOr(path, MAX_FILE_BYTES, (is) => unfit(path, is));
  if (bytes === null) throw unfit(path, 'there is none, expected a file of yours');
  if (!isUtf8(bytes)) throw unfit(path, 'it has other bytes, expected UTF-8');
  const [line = ''] = bytes.toString('utf8').split('\n', 1);
  const passphrase = line.replace(/\r$/, '');
  if (passphrase === '') throw unfit(path, 'its first line is empty, expected the passphrase');
  return passphrase;
}

function unfit(path: string, what: string): Error {
  return locked(
    `the passphrase file "${path}" cannot be used: ${what}`,
    'Put the passphrase alone into a file of your own with mode 0600, and name it as vault.passphrase_file.',
  );
}
