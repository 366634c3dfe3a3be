import { isUtf8 } from 'node:buffer';
import { createSecretKey, type KeyObject, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { readPrivateFile, UnfitFile } from '../store/private-file.ts';
import { locked, misused } from './refusal.ts';
import { KEY_BYTES } from './seal.ts';

/** Shorter ones are found by trying, at a rate that scrypt only slows down. */
const MIN_CHARS = 12;
const MAX_CHARS = 1024;
const MAX_FILE_BYTES = 8 * 1024;
export const SALT_BYTES = 16;

/** 128 MiB and some tenths of a second for each try; a part of the format, so never read from the database. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

const derive = promisify<string, Uint8Array, number, typeof COST, Buffer>(scrypt);

/** The key that a passphrase gives with this salt. */
export async function keyOfPassphrase(passphrase: string, salt: Uint8Array): Promise<KeyObject> {
  // One passphrase, however the keyboard composes its letters.
  const raw = await derive(passphrase.normalize('NFC'), salt, KEY_BYTES, COST);
  const key = createSecretKey(raw);
  raw.fill(0);
  return key;
}

/** Refuses a new passphrase that would not keep anything. */
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
  const bytes = readBytes(path);
  if (bytes === null) throw unfit(path, 'there is none, expected a file of yours');
  if (!isUtf8(bytes)) throw unfit(path, 'it has other bytes, expected UTF-8');
  const [line = ''] = bytes.toString('utf8').split('\n', 1);
  const passphrase = line.replace(/\r$/, '');
  if (passphrase === '') throw unfit(path, 'its first line is empty, expected the passphrase');
  return passphrase;
}

function readBytes(path: string): Buffer | null {
  try {
    return readPrivateFile(path, MAX_FILE_BYTES);
  } catch (error) {
    if (error instanceof UnfitFile) throw unfit(path, error.message);
    throw error;
  }
}

function unfit(path: string, what: string): Error {
  return locked(
    `the passphrase file "${path}" cannot be used: ${what}`,
    'Put the passphrase alone into a file of your own with mode 0600, and name it as vault.passphrase_file.',
  );
}
