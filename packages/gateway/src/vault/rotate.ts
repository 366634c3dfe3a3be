import { CodedError } from '../core/coded-error.ts';
import type { Principal } from '../core/principal.ts';
import type { Transaction } from '../store/transaction.ts';
import { type Inventory, reseal } from './contents.ts';
import type { KeySource } from './keys.ts';
import { demandUntouched, isCurrent, type Lock, type LockSource, type OpenKey } from './lock.ts';
import { actOf, misused } from './secret.ts';
import { deleteSecrets, replaceLock, selectLock } from './tables.ts';
import type { VaultOptions } from './vault.ts';

/*
 * A new data key under a new lock. The order makes it safe to end anywhere: the new key is stored; then one transaction
 * seals everything again and names the key; then the old key is deleted. All of it happens under the write lock of the
 * store, so that no two processes do it at the same time.
 */

export type RotateParts = Pick<VaultOptions, 'store' | 'keys' | 'random' | 'onEvent'> & {
  readonly lock: Lock;
  readonly inventory: Inventory;
};

export type RotationWish = {
  /** What it is to be locked with; unchanged when left out. */
  readonly to?: LockSource;
  /** The new passphrase, where no file has it. */
  readonly passphrase?: string;
  /** Its key is lost: remove every secret, and start over. */
  readonly lost?: boolean;
};

export type VaultRotation = {
  readonly from: LockSource | null;
  readonly to: LockSource;
  /** Sealed again, or removed when the key was lost. */
  readonly secrets: number;
};

export async function found(parts: RotateParts, by: Principal): Promise<void> {
  const { store, lock, inventory, onEvent } = parts;
  if (lock.source !== null) return;
  const fresh = await lock.makeFresh(lock.kind, null);
  store.transact((tx) => {
    if (tx.get(selectLock, {}) !== undefined) return;
    demandUntouched(tx);
    tx.run(replaceLock, fresh.install());
    inventory.write(tx, fresh.key, new Map());
    onEvent(tx, actOf('vault-founded', by, { lock: fresh.source }));
  });
}

/** Rotates, whole or not at all; tries again when another process was faster. */
export async function rotate(parts: RotateParts, by: Principal, wish: RotationWish): Promise<VaultRotation> {
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
