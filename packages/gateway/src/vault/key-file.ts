import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, remove, UNFINISHED, writeWhole } from '../attest/key-files.ts';
import { digestBytes } from '../core/digest.ts';
import { storeErrorOf } from '../store/fault-of.ts';
import { readPrivateFile, UnfitFile } from '../store/private-file.ts';
import { locked } from './refusal.ts';

/*
 * The key file: a line for each key, its id and itself in hexadecimal. There is one line but for a rotation, which adds
 * the new key before the database needs it and takes the old one away when the database no longer does. So whenever a
 * process ends, the key that the database names is in the file. Callers hold the write lock of the store while they change
 * it; otherwise two of them would each write the file without the key of the other.
 */

/** Keeps the keys that lock the vault, outside the database. */
export type KeySource = {
  /** The key of that id; null where there is none. */
  readonly read: (id: string) => Uint8Array | null;
  /** Keeps one more key and gives its id; durable when it returns, and none that was there is lost. */
  readonly add: (key: Uint8Array) => string;
  /** Forgets all keys but that one; null: all. */
  readonly keepOnly: (id: string | null) => void;
};

const NAME = 'vault.key';
const LINE = /^([0-9a-f]{16}) ([0-9a-f]{64})$/;
const MAX_BYTES = 64 * 1024;

type Keys = ReadonlyMap<string, Uint8Array>;

/** The keys in `vault.key` of this directory, which is made with the first one. */
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
      // What a crash left half written has a key in it, too.
      const isLeft = (name: string) =>
        (name === NAME && id === null) || (name.startsWith(`${NAME}.`) && name.endsWith(UNFINISHED));
      const left = namesIn(directory).filter(isLeft);
      if (left.length > 0) attempt(path, () => remove(directory, left));
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
  try {
    const text = readPrivateFile(path, MAX_BYTES)?.toString('latin1') ?? '';
    return text.split('\n').filter((line) => line !== '');
  } catch (error) {
    if (!(error instanceof UnfitFile)) throw error;
    throw locked(
      `the key file "${path}" cannot be used: ${error.message}`,
      'Make it a file of your own with mode 0600. If others could read it, run `palisade secrets rotate` then.',
    );
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

/** Names a key and tells nothing of it. */
function idOf(key: Uint8Array): string {
  return digestBytes(Buffer.concat([Buffer.from('palisade-vault-key-id\0'), key])).slice(0, 16);
}
