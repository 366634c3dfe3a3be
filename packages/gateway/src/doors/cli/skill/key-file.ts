import { lstatSync } from 'node:fs';
import { decodeKey, documentOf, encodeKey, generateKey, type SigningKey } from '../../../attest/key-files.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { readPrivateFile, UnfitFile } from '../../../store/private-file.ts';
import { wrongUsage } from '../input.ts';
import { replaceFile, writePrivateFile } from '../out-file.ts';

const MAX_KEY_BYTES = 4096;

/** Where the public part of a key is put, for those who are to trust it. */
export function publicFileOf(path: string): string {
  return `${path}.pub.json`;
}

/** The key in a file that only its owner can read. */
export function readKeyFile(path: string): SigningKey {
  const bytes = readBytes(path);
  if (bytes === null)
    throw wrongUsage(`Cannot read the key "${path}": there is no such file, expected one or --new-key`);
  try {
    return decodeKey(bytes.toString('utf8'));
  } catch {
    // The words of the parser could quote what it read.
    throw wrongUsage(`Cannot read the key "${path}": it is something else, expected a key of --new-key`);
  } finally {
    bytes.fill(0);
  }
}

/** Makes a key and its two files; writes over nothing. */
export function makeKeyFile(path: string, nowMs: number): SigningKey {
  for (const file of [path, publicFileOf(path)]) {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) continue;
    throw wrongUsage(`Cannot make the key "${path}": "${file}" is there already, expected a new name`);
  }
  const key = generateKey(nowMs);
  writePrivateFile(path, encodeKey(key), false);
  replaceFile(publicFileOf(path), Buffer.from(`${documentOf(key, null)}\n`));
  return key;
}

function readBytes(path: string): Buffer | null {
  try {
    return readPrivateFile(path, MAX_KEY_BYTES);
  } catch (error) {
    if (!(error instanceof UnfitFile)) throw error;
    throw new CodedError('door/wrong-usage', `Cannot read the key "${path}": ${error.message}`, {
      remedy: 'Give the private key, in a file of yours that nobody else can read (`chmod 600`).',
    });
  }
}
