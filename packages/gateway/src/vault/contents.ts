import type { KeyObject } from 'node:crypto';
import type { Random } from '../core/clock.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import { type Binding, markOf, seal, unseal } from './keys.ts';
import {
  bindingOf,
  entryOf,
  formatScope,
  MAX_SECRETS,
  missing,
  misused,
  naming,
  type SecretEntry,
  type SecretRef,
  scopesOf,
  unreadable,
  type VaultCaller,
  type VaultScope,
} from './secret.ts';
import {
  deleteSecret,
  keyOf,
  replaceInventory,
  replaceSecret,
  type SecretRow,
  selectAbout,
  selectInventory,
  selectMark,
  selectSecret,
} from './tables.ts';

/*
 * Which secrets exist, in which version and which sealing. A row that can be opened does not necessarily belong here:
 * it can be an older one that was kept and restored, or the only one left after a more specific one was removed. So
 * this list is sealed as well, again with each change, and a row counts only when it is the one on the list.
 */

type Entry = { readonly version: number; readonly mark: string };
type Entries = ReadonlyMap<string, Entry>;

const BINDING: Binding = ['palisade-vault-inventory/v1'];

function entryKey({ kind, subject }: VaultScope, name: string): string {
  return JSON.stringify([kind, subject, name]);
}

/** The list as one transaction sees and changes it. */
type Draft = { entries: Map<string, Entry>; isChanged: boolean };

/** The list of one vault. The last one that was opened is cached, since most are read many times. */
export class Inventory {
  readonly #random: Random;
  #last: { readonly mark: string; readonly key: KeyObject; readonly entries: Map<string, Entry> } | null =
    null;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The list in this transaction; throws when it cannot be opened. */
  read(tx: Transaction, key: KeyObject): Entries {
    return this.#draftOf(tx, key).entries;
  }

  /** Changes one entry, null removes it; all changes of a transaction are sealed together, right before the commit. */
  change(tx: Transaction, key: KeyObject, id: string, entry: Entry | null): void {
    const draft = this.#draftOf(tx, key);
    if (!draft.isChanged) {
      draft.entries = new Map(draft.entries);
      draft.isChanged = true;
      tx.beforeCommit(() => this.write(tx, key, draft.entries));
    }
    if (entry === null) draft.entries.delete(id);
    else draft.entries.set(id, entry);
  }

  /** Seals a whole list in place of the previous one; nothing else in this transaction may change it. */
  write(tx: Transaction, key: KeyObject, entries: Entries): void {
    const list = [...entries].map(([id, { version, mark }]) => [id, version, mark]);
    const sealed = seal(key, Buffer.from(JSON.stringify(list)), BINDING, this.#random);
    tx.run(replaceInventory, { id: 1, mark: markOf(sealed), sealed });
  }

  #draftOf(tx: Transaction, key: KeyObject): Draft {
    return tx.once(this, () => ({ entries: this.#load(tx, key), isChanged: false }));
  }

  #load(tx: Transaction, key: KeyObject): Map<string, Entry> {
    const mark = tx.get(selectMark, {})?.mark;
    if (this.#last !== null && this.#last.mark === mark && this.#last.key === key) return this.#last.entries;
    const row = tx.get(selectInventory, {});
    const plain = row === undefined ? null : unseal(key, row.sealed, BINDING);
    if (row === undefined || plain === null) throw spoiled();
    const list = JSON.parse(plain.toString('utf8')) as [string, number, string][];
    const entries = new Map(list.map(([id, version, at]) => [id, { version, mark: at }]));
    // Boundary: cached by the mark that was sealed, not by the one stored beside it.
    this.#last = { mark: markOf(row.sealed), key, entries };
    return entries;
  }
}

function spoiled(): Error {
  return unreadable(
    'Cannot read the vault: its list of secrets does not open, expected the one that was sealed last',
    'Restore the database from a backup. `palisade secrets rotate --lost` removes all secrets and starts anew.',
  );
}

/* The contents of the vault, inside one transaction and under one key: rows and their sealed list, changed together. */

export type Means = {
  readonly tx: Transaction;
  readonly key: KeyObject;
  readonly inventory: Inventory;
  readonly random: Random;
};

type Named = Pick<SecretEntry, 'name' | 'scope'>;

/** The row that the caller means, from the most specific scope that has one. */
export function findRow(reader: Reader, name: string, asker: VaultCaller): SecretRow | undefined {
  for (const scope of scopesOf(asker)) {
    const row = reader.get(selectSecret, keyOf(scope, name));
    if (row !== undefined) return row;
  }
  return undefined;
}

export function put(means: Means, { name, scope }: Named, value: Uint8Array, nowMs: number): SecretEntry {
  const { tx, key, inventory, random } = means;
  const entries = inventory.read(tx, key);
  const id = entryKey(scope, name);
  const before = entries.get(id);
  if (before === undefined && entries.size >= MAX_SECRETS) {
    const what = `Cannot set ${naming(name, scope)}: there are ${entries.size}, expected at most ${MAX_SECRETS}`;
    const remedy = 'Remove secrets that are not used; `palisade secrets list` tells when each was used.';
    throw misused(what, remedy);
  }
  const version = (before?.version ?? 0) + 1;
  const sealed = seal(key, value, bindingOf(scope, name, version), random);
  const times = { created_at_ms: nowMs, used_at_ms: null };
  const row: SecretRow = { ...keyOf(scope, name), version, sealed, bytes: value.length, ...times };
  tx.run(replaceSecret, row);
  inventory.change(tx, key, id, { version, mark: markOf(sealed) });
  return entryOf(row);
}

/** Removes a secret, even one that cannot be opened; returns its version, or null where it does not exist. */
export function take({ tx, key, inventory }: Means, { name, scope }: Named): number | null {
  const id = entryKey(scope, name);
  const version =
    inventory.read(tx, key).get(id)?.version ?? tx.get(selectSecret, keyOf(scope, name))?.version;
  if (version === undefined) return null;
  tx.run(deleteSecret, keyOf(scope, name));
  inventory.change(tx, key, id, null);
  return version;
}

/** The row and the value that a ref currently refers to. */
export function look({ tx, key, inventory }: Means, ref: SecretRef): { row: SecretRow; value: Buffer } {
  const entries = inventory.read(tx, key);
  const { name, asker } = ref;
  const row = findRow(tx, name, asker);
  const scope = row === undefined ? undefined : entryOf(row).scope;
  const listed = scopesOf(asker).find((each) => entries.has(entryKey(each, name)));
  // Boundary: a row that was added or removed by tampering would yield the value of another scope.
  if (!isSameScope(scope, listed)) throw unlike({ name, scope: listed ?? scope ?? ref.scope });
  if (row === undefined || scope === undefined || !isSameScope(scope, ref.scope)) throw gone(ref);
  return { row, value: openRow(key, row, entries.get(entryKey(scope, name))) };
}

/** Seals every secret again under another key; returns how many there are. Throws when one is not as it was set. */
export function reseal({ tx, key, inventory, random }: Means, newKey: KeyObject): number {
  const entries = inventory.read(tx, key);
  const renewed = new Map<string, Entry>();
  for (const { scope, name } of tx.all(selectAbout, {}).map(entryOf)) {
    const id = entryKey(scope, name);
    const row = tx.get(selectSecret, keyOf(scope, name));
    if (row === undefined) throw unlike({ name, scope });
    const value = openRow(key, row, entries.get(id));
    const sealed = seal(newKey, value, bindingOf(scope, name, row.version), random);
    value.fill(0);
    tx.run(replaceSecret, { ...row, sealed });
    renewed.set(id, { version: row.version, mark: markOf(sealed) });
  }
  const lost = [...entries.keys()].find((id) => !renewed.has(id));
  if (lost !== undefined) {
    const [kind, subject, name] = JSON.parse(lost) as [VaultScope['kind'], string, string];
    throw unlike({ name, scope: { kind, subject } });
  }
  inventory.write(tx, newKey, renewed);
  return renewed.size;
}

function openRow(key: KeyObject, row: SecretRow, entry: Entry | undefined): Buffer {
  const { name, scope, version } = entryOf(row);
  // Boundary: an older row that was restored can be opened as well; only the one on the list counts.
  const isListed = entry !== undefined && entry.version === version && entry.mark === markOf(row.sealed);
  const value = isListed ? unseal(key, row.sealed, bindingOf(scope, name, version)) : null;
  if (value === null) throw unlike({ name, scope });
  return value;
}

function isSameScope(a: VaultScope | undefined, b: VaultScope | undefined): boolean {
  return a?.kind === b?.kind && a?.subject === b?.subject;
}

function unlike({ name, scope }: Named): Error {
  return unreadable(
    `Cannot open ${naming(name, scope)}: what is stored is not what was set`,
    'Restore the database from a backup, or set or remove this secret.',
  );
}

function gone({ name, scope }: SecretRef): Error {
  return missing(
    `Cannot open ${naming(name, scope)}: it is no longer the one that was found, expected ${formatScope(scope)}`,
    'Call again; `palisade secrets list` shows what there is.',
  );
}
