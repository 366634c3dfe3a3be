import { createSecretKey, type KeyObject } from 'node:crypto';
import type { Reader } from '../store/transaction.ts';
import {
  type Binding,
  checkNewPassphrase,
  KEY_BYTES,
  keyOfPassphrase,
  readPassphraseFile,
  SALT_BYTES,
  seal,
  unseal,
} from './keys.ts';
import { locked, missing, unreadable } from './secret.ts';
import { type LockRow, selectLock, selectMark } from './tables.ts';
import type { VaultOptions } from './vault.ts';

/*
 * One random key, the data key, seals everything. It is in the database, itself sealed by a key that is not: one of the
 * key file, or one derived from a passphrase. Opening is lazy: an unused vault never asks for a passphrase.
 */

export type LockSource = LockRow['source'];

export type OpenKey = { readonly row: LockRow; readonly key: KeyObject };

type FreshLock = {
  readonly source: LockSource;
  readonly key: KeyObject;
  /** Makes sure that it can be opened later, and returns the row. Only while the write lock of the store is held. */
  readonly install: () => LockRow;
};

type LockOptions = Pick<VaultOptions, 'store' | 'keys' | 'settings' | 'random'>;

export class Lock {
  readonly #options: LockOptions;
  #given: string | null = null;
  #opened: OpenKey | null = null;
  #opening: Promise<OpenKey> | null = null;

  constructor(options: LockOptions) {
    this.#options = options;
  }

  /** What the vault is locked with; null while it does not exist. */
  get source(): LockSource | null {
    return this.#options.store.get(selectLock, {})?.source ?? null;
  }

  /** What it is, or would be, locked with. */
  get kind(): LockSource {
    const { settings } = this.#options;
    const source = this.source;
    if (source !== null) return source;
    if (settings.key === 'keychain') throw keychain();
    return settings.key;
  }

  /** True when only a person can open it. */
  get needsPassphrase(): boolean {
    const { settings } = this.#options;
    const source = this.source ?? settings.key;
    return source === 'passphrase' && settings.passphraseFile === null && this.#given === null;
  }

  /** The passphrase that a person entered; a file that the operator configured takes precedence. */
  give(passphrase: string): void {
    this.#given = passphrase;
  }

  /** Returns the data key or throws why it cannot. The key is cached for as long as the lock is the same. */
  async open(): Promise<OpenKey> {
    const { store, settings } = this.#options;
    if (settings.key === 'keychain') throw keychain();
    const row = store.get(selectLock, {});
    if (row === undefined) {
      demandUntouched(store);
      throw missing('Cannot open the vault: there is no secret in it yet');
    }
    if (this.#opened !== null && isSameLock(this.#opened.row, row)) return this.#opened;
    // One at a time: each attempt with a passphrase takes 128 MiB.
    this.#opening ??= this.#unwrap(row).finally(() => {
      this.#opening = null;
    });
    this.#opened = await this.#opening;
    return this.#opened;
  }

  /** A new data key under a new lock of that kind; a passphrase is that of the file, else the new one, else the old. */
  async makeFresh(source: LockSource, newPassphrase: string | null): Promise<FreshLock> {
    const { keys, random, settings } = this.#options;
    if (settings.key === 'keychain') throw keychain();
    const raw = random.bytes(KEY_BYTES);
    const wrap = (wrapping: KeyObject, key_ref: string): LockRow => {
      const binding = bindingOf({ source, key_ref });
      return { id: 1, source, key_ref, wrapped: seal(wrapping, raw, binding, random) };
    };
    const key = createSecretKey(raw);
    if (source === 'file') {
      const fileKey = random.bytes(KEY_BYTES);
      return { source, key, install: () => wrap(createSecretKey(fileKey), keys.add(fileKey)) };
    }
    const passphrase = this.#passphrase(newPassphrase);
    checkNewPassphrase(passphrase);
    const salt = random.bytes(SALT_BYTES);
    const wrapping = await keyOfPassphrase(passphrase, salt);
    return { source, key, install: () => wrap(wrapping, Buffer.from(salt).toString('hex')) };
  }

  async #unwrap(row: LockRow): Promise<OpenKey> {
    const wrapping = await this.#wrappingKey(row);
    const now = this.#options.store.get(selectLock, {});
    // Another process may have changed the lock between reading the database and reading the key.
    if (now !== undefined && !isSameLock(now, row)) return this.#unwrap(now);
    if (wrapping === null) {
      throw locked(
        `the key file does not have the key ${row.key_ref}, expected the key that the vault was locked with`,
        'Restore `keys/vault.key` of the state directory from a backup. If it is lost, so are the values: `palisade secrets rotate --lost` removes them.',
      );
    }
    const raw = unseal(wrapping, row.wrapped, bindingOf(row));
    if (raw === null) throw unopened(row.source);
    const key = createSecretKey(raw);
    raw.fill(0);
    return { row, key };
  }

  async #wrappingKey({ source, key_ref }: LockRow): Promise<KeyObject | null> {
    if (source === 'passphrase') return keyOfPassphrase(this.#passphrase(null), Buffer.from(key_ref, 'hex'));
    const raw = this.#options.keys.read(key_ref);
    return raw === null ? null : createSecretKey(raw);
  }

  #passphrase(newOne: string | null): string {
    const { passphraseFile } = this.#options.settings;
    const passphrase = passphraseFile === null ? (newOne ?? this.#given) : readPassphraseFile(passphraseFile);
    if (passphrase !== null) return passphrase;
    throw locked(
      'nobody gave its passphrase, expected a person at a terminal or a file',
      'Run the command in a terminal, or name a file with `vault.passphrase_file` in palisade.toml.',
    );
  }
}

/** Boundary: sealed data without a lock lost it by tampering; a new lock would only hide that. */
export function demandUntouched(reader: Reader): void {
  if (reader.get(selectMark, {}) === undefined) return;
  throw unreadable(
    'Cannot open the vault: it has secrets and no lock, expected both or none',
    'Restore the database from a backup. `palisade secrets rotate --lost` removes all secrets and starts anew.',
  );
}

export function isCurrent(reader: Reader, { row }: OpenKey): boolean {
  const now = reader.get(selectLock, {});
  return now !== undefined && isSameLock(now, row);
}

function isSameLock(a: LockRow, b: LockRow): boolean {
  return a.source === b.source && a.key_ref === b.key_ref && Buffer.compare(a.wrapped, b.wrapped) === 0;
}

function bindingOf({ source, key_ref }: Pick<LockRow, 'source' | 'key_ref'>): Binding {
  return ['palisade-vault-key/v1', source, key_ref];
}

function unopened(source: LockSource): Error {
  if (source === 'file') return unreadable('Cannot open the vault: its key does not open with the key file');
  return unreadable(
    'Cannot open the vault: its key does not open with this passphrase',
    'Give the passphrase that the vault was locked with. If it is lost, so are the values: `palisade secrets rotate --lost` removes them.',
  );
}

function keychain(): Error {
  return locked(
    'vault.key is "keychain", which this palisade cannot ask yet, expected "file" or "passphrase"',
    'Set `vault.key` in palisade.toml to "file" or to "passphrase".',
  );
}
