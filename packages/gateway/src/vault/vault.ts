import type { VaultConfig } from '../config/config.ts';
import type { Clock, Random } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Actor } from '../core/principal.ts';
import type { Store } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import { findRow, Inventory, look, type Means, put, reseal, take } from './contents.ts';
import type { KeySource } from './keys.ts';
import { demandUntouched, isCurrent, Lock, type LockSource, type OpenKey } from './lock.ts';
import {
  actOf,
  bodyOf,
  checkName,
  checkScope,
  checkValue,
  entryOf,
  misused,
  type SecretEntry,
  type SecretRef,
  type SecretUse,
  useOf,
  type VaultCaller,
  type VaultEvent,
  type VaultScope,
} from './secret.ts';
import { deleteSecrets, keyOf, replaceLock, selectAbout, selectLock, updateUsed } from './tables.ts';

/*
 * Secrets at rest. Values come from an administrator and go to the run of a call that may use them; they are sealed in
 * the database, and no record, list or message ever contains one.
 *
 * Who is trusted: anyone with the database and the key of the vault has the values. Anyone with the database alone
 * learns names, scopes, sizes and times, and can destroy; what they change, move, restore or remove is detected when a
 * value is read (`vault/unreadable`). Restoring the whole database to an earlier state is not detected here.
 *
 * Every change and every use is passed to `onEvent` inside the transaction that makes it: a value leaves only when its
 * use is recorded. This module does not authorise: who may set, and which call may use what, is decided by its callers.
 */

export type VaultOptions = {
  readonly store: Store;
  readonly keys: KeySource;
  readonly settings: VaultConfig;
  readonly clock: Clock;
  readonly random: Random;
  /** Records an event, in the transaction in which it happens. */
  readonly onEvent: (tx: Transaction, event: VaultEvent) => void;
};

export class Vault {
  readonly #options: VaultOptions;
  readonly #parts: RotateParts;

  constructor(options: VaultOptions) {
    this.#options = options;
    const { store, keys, random, onEvent } = options;
    const [lock, inventory] = [new Lock(options), new Inventory(random)];
    this.#parts = { store, keys, lock, inventory, random, onEvent };
  }

  /** What the vault is locked with; null while it was never used. */
  get lockedWith(): LockSource | null {
    return this.#parts.lock.source;
  }

  /** True when a person has to enter the passphrase before a value can be set or used. */
  get needsPassphrase(): boolean {
    return this.#parts.lock.needsPassphrase;
  }

  /** Takes the passphrase of a person, for this process; whether it is right shows when it is used. */
  givePassphrase(passphrase: string): void {
    this.#parts.lock.give(passphrase);
  }

  /** Opens an existing vault now, and not only when it is used; throws why it cannot. */
  async open(): Promise<void> {
    if (this.lockedWith !== null) await this.#parts.lock.open();
  }

  /** Stores a value under a name, replacing the old one; durable once resolved. The first one creates the vault. */
  async set(name: string, scope: VaultScope, value: Uint8Array, by: Actor): Promise<SecretEntry> {
    checkName(name);
    checkScope(scope);
    checkValue(value);
    // The caller may reuse its bytes before ours are written.
    const own = Uint8Array.from(value);
    try {
      await found(this.#parts, by);
      return await this.#within((means) => {
        by.require?.();
        const entry = put(means, { name, scope }, own, this.#options.clock.nowMs());
        const body = { ...bodyOf(entry), bytes: entry.bytes };
        this.#options.onEvent(means.tx, actOf('secret-set', by, body));
        return entry;
      });
    } finally {
      own.fill(0);
    }
  }

  /** Removes a secret, even one that cannot be opened; true when it existed. */
  async remove(name: string, scope: VaultScope, by: Actor): Promise<boolean> {
    if (this.lockedWith === null) {
      demandUntouched(this.#options.store);
      return false;
    }
    return this.#within((means) => {
      by.require?.();
      const version = take(means, { name, scope });
      if (version === null) return false;
      this.#options.onEvent(means.tx, actOf('secret-removed', by, bodyOf({ name, scope, version })));
      return true;
    });
  }

  /** Every secret by name and scope, without its value; needs no key. */
  list(): readonly SecretEntry[] {
    return this.#options.store.all(selectAbout, {}).map(entryOf);
  }

  /** The secret of that name for this caller, from the most specific scope that has one; needs no key. */
  find(name: string, asker: VaultCaller): SecretRef | null {
    const row = findRow(this.#options.store, name, asker);
    if (row === undefined) return null;
    const { scope, version } = entryOf(row);
    return { name, scope, version, asker };
  }

  /** The value, once its use is recorded; the newest one, if it was set again since it was found. */
  async reveal(ref: SecretRef, use: SecretUse): Promise<Uint8Array> {
    return this.#within((means) => {
      const { row, value } = look(means, ref);
      const entry = entryOf(row);
      const used_at_ms = this.#options.clock.nowMs();
      means.tx.run(updateUsed, { ...keyOf(entry.scope, entry.name), used_at_ms });
      this.#options.onEvent(means.tx, useOf(entry, ref.asker, use));
      return value;
    });
  }

  /** A new key under a new lock, and every secret sealed again: the old key opens nothing of the current contents. */
  rotate(by: Actor, wish: RotationWish = {}): Promise<VaultRotation> {
    return rotate(this.#parts, by, wish);
  }

  /** Opens the vault and works in one transaction, under the key that is valid in it. */
  async #within<T>(work: (means: Means) => T): Promise<T> {
    const { store, lock, inventory, random } = this.#parts;
    for (;;) {
      const open = await lock.open();
      const { key } = open;
      const done = await store.commit((tx) =>
        // Another process may have rotated the vault since it was opened.
        isCurrent(tx, open) ? { result: work({ tx, key, inventory, random }) } : null,
      );
      if (done !== null) return done.result;
    }
  }
}

/*
 * A new data key under a new lock. The order makes it safe to end anywhere: the new key is stored; then one transaction
 * seals everything again and names the key; then the old key is deleted. All of it happens under the write lock of the
 * store, so that no two processes do it at the same time.
 */

type RotateParts = Pick<VaultOptions, 'store' | 'keys' | 'random' | 'onEvent'> & {
  readonly lock: Lock;
  readonly inventory: Inventory;
};

type RotationWish = {
  /** What it is to be locked with; unchanged when left out. */
  readonly to?: LockSource;
  /** The new passphrase, where no file has it. */
  readonly passphrase?: string;
  /** Its key is lost: remove every secret, and start over. */
  readonly lost?: boolean;
};

type VaultRotation = {
  readonly from: LockSource | null;
  readonly to: LockSource;
  /** Sealed again, or removed when the key was lost. */
  readonly secrets: number;
};

async function found(parts: RotateParts, by: Actor): Promise<void> {
  const { store, lock, inventory, onEvent } = parts;
  if (lock.source !== null) return;
  const fresh = await lock.makeFresh(lock.kind, null);
  store.transact((tx) => {
    if (tx.get(selectLock, {}) !== undefined) return;
    by.require?.();
    demandUntouched(tx);
    tx.run(replaceLock, fresh.install());
    inventory.write(tx, fresh.key, new Map());
    onEvent(tx, actOf('vault-founded', by, { lock: fresh.source }));
  });
}

/** Rotates, whole or not at all; tries again when another process was faster. */
async function rotate(parts: RotateParts, by: Actor, wish: RotationWish): Promise<VaultRotation> {
  const { store, keys, lock } = parts;
  const isLost = wish.lost === true;
  for (;;) {
    const open = isLost ? await demandLost(parts) : await openIfAny(parts);
    const before = store.get(selectLock, {});
    const fresh = await lock.makeFresh(wish.to ?? lock.kind, wish.passphrase ?? null);
    const rotation = store.transact((tx): VaultRotation | null => {
      const row = tx.get(selectLock, {});
      const isAsBefore = open === null ? row?.key_ref === before?.key_ref : isCurrent(tx, open);
      if (!isAsBefore) return null;
      by.require?.();
      const newRow = fresh.install();
      const secrets = renew(parts, tx, open, fresh.key);
      tx.run(replaceLock, newRow);
      const [from, to] = [row?.source ?? null, fresh.source];
      parts.onEvent(tx, actOf('vault-rotated', by, { from, to, secrets, lost: isLost }));
      return { from, to, secrets };
    });
    if (rotation === null) continue;
    if (wish.passphrase !== undefined) lock.give(wish.passphrase);
    // A key that was considered lost may turn up, with a copy of the database that it opens.
    if (!isLost) store.transact((tx) => forgetOthers(keys, tx));
    return rotation;
  }
}

function renew(
  { inventory, random }: RotateParts,
  tx: Transaction,
  open: OpenKey | null,
  newKey: OpenKey['key'],
): number {
  if (open !== null) return reseal({ tx, key: open.key, inventory, random }, newKey);
  const removed = tx.run(deleteSecrets, {});
  inventory.write(tx, newKey, new Map());
  return removed;
}

function forgetOthers(keys: KeySource, tx: Transaction): void {
  const row = tx.get(selectLock, {});
  if (row !== undefined) keys.keepOnly(row.source === 'file' ? row.key_ref : null);
}

async function openIfAny({ store, lock }: RotateParts): Promise<OpenKey | null> {
  if (lock.source !== null) return lock.open();
  demandUntouched(store);
  return null;
}

/** Refuses to remove what can still be opened. */
async function demandLost(parts: RotateParts): Promise<null> {
  const { store, inventory } = parts;
  try {
    const open = await openIfAny(parts);
    if (open !== null) store.transact((tx) => inventory.read(tx, open.key));
  } catch (error) {
    if (error instanceof CodedError && /^vault\/(?:locked|unreadable)$/.test(error.code)) return null;
    throw error;
  }
  throw misused('Cannot start the vault anew: it opens, or there is none', 'Rotate without --lost.');
}
