import type { KeyObject } from 'node:crypto';
import type { Random } from '../core/clock.ts';
import type { Transaction } from '../store/transaction.ts';
import { unreadable } from './refusal.ts';
import { readInventory, readMark, writeInventory } from './rows.ts';
import type { Scope } from './scope.ts';
import { type Binding, markOf, seal, unseal } from './seal.ts';

/*
 * Which secrets there are, in which version and which sealing. A row that opens is not yet a row that belongs here: it
 * can be an older one that somebody kept and put back, or the only one that is left after a more specific one was taken
 * away. So this list is sealed as well, anew with each change, and a row counts only when it is the one on the list.
 */

export type Entry = { readonly version: number; readonly mark: string };
export type Entries = ReadonlyMap<string, Entry>;

const BINDING: Binding = ['palisade-vault-inventory/v1'];

/** The place of a secret on the list. */
export function entryKey({ kind, subject }: Scope, name: string): string {
  return JSON.stringify([kind, subject, name]);
}

/** The list as one transaction sees and changes it. */
type Draft = { entries: Map<string, Entry>; isChanged: boolean };

/** The list of one vault. The last one that was opened is remembered, since most are read many times. */
export class Inventory {
  readonly #random: Random;
  #last: { readonly mark: string; readonly key: KeyObject; readonly entries: Map<string, Entry> } | null =
    null;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The list as it is in this transaction; throws when it does not open. */
  read(tx: Transaction, key: KeyObject): Entries {
    return this.#draftOf(tx, key).entries;
  }

  /** Changes one entry, null removes it; all changes of a transaction are sealed at once, right before it is committed. */
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

  /** Seals a whole list in the place of the one before; nothing else in this transaction may change it. */
  write(tx: Transaction, key: KeyObject, entries: Entries): void {
    const list = [...entries].map(([id, { version, mark }]) => [id, version, mark]);
    const sealed = seal(key, Buffer.from(JSON.stringify(list)), BINDING, this.#random);
    writeInventory(tx, { mark: markOf(sealed), sealed });
  }

  #draftOf(tx: Transaction, key: KeyObject): Draft {
    return tx.once(this, () => ({ entries: this.#load(tx, key), isChanged: false }));
  }

  #load(tx: Transaction, key: KeyObject): Map<string, Entry> {
    const mark = readMark(tx);
    if (this.#last !== null && this.#last.mark === mark && this.#last.key === key) return this.#last.entries;
    const row = readInventory(tx);
    const plain = row === undefined ? null : unseal(key, row.sealed, BINDING);
    if (row === undefined || plain === null) throw spoiled();
    const list = JSON.parse(plain.toString('utf8')) as [string, number, string][];
    const entries = new Map(list.map(([id, version, at]) => [id, { version, mark: at }]));
    // Boundary: remembered by the mark that was sealed, not by the one that stands beside it.
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
