/*
 * What skills keep between their calls: keys and values per tenant and skill, in the state database. A running call has
 * a `Space`, which is bound to one tenant, one skill and the prefixes that were granted; it cannot name anything else.
 * Each write is one transaction and durable once its promise resolves; it has a version that is never reused, so that
 * "write if nothing changed" is exact even after a deletion, with other calls and with other processes.
 *
 * Tenant, skill, grants and quota come from the gateway and are trusted. Keys, values, cursors and versions come from a
 * guest and may be hostile: what a guest causes is a refusal as a value, never an error. A read sees every write of its
 * own space requested before it, and every completed write of others. This module never grants, never reads a clock and
 * never inspects a value.
 */
import { quote } from '../core/hostile-text.ts';
import { sentenceOf } from '../core/result.ts';
import {
  isBeneath,
  parseKey,
  parsePrefix,
  type StorageKey,
  type StoragePrefix,
} from '../core/storage-key.ts';
import type { Store } from '../store/store.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import type { SpaceName } from './tables.ts';
import {
  DEFAULT_QUOTA,
  type Deleted,
  deleteValue,
  type IfVersion,
  type KeyPage,
  type Put,
  putValue,
  type Quota,
  readPage,
  readValue,
  refuseFor,
  STORAGE_LIMITS,
  type StorageRefusal,
  type Stored,
} from './values.ts';

/** The prefixes that a call may read and write beneath; neither includes the other. */
export type StorageGrants = {
  readonly read: readonly StoragePrefix[];
  readonly write: readonly StoragePrefix[];
};

type SpaceTerms = SpaceName & { readonly grants: StorageGrants; readonly quota?: Quota };

type Got = { readonly ok: true; readonly found: Stored | null } | StorageRefusal;
type Listed = ({ readonly ok: true } & KeyPage) | StorageRefusal;
type ListAsked = { readonly after?: string; readonly limit: number };

const NOTHING: StorageGrants = { read: [], write: [] };

export class Space {
  readonly #store: Store;
  readonly #name: SpaceName;
  readonly #quota: Quota;
  #grants: StorageGrants;
  #pending = 0;

  constructor(store: Store, { tenant, skill, grants, quota = DEFAULT_QUOTA }: SpaceTerms) {
    this.#store = store;
    this.#name = { tenant, skill };
    this.#grants = grants;
    this.#quota = quota;
  }

  /** The value of a key with its version, or null when it does not exist. */
  async get(rawKey: string): Promise<Got> {
    const judged = this.#judgeKey(rawKey, 'read');
    if (!judged.ok) return judged;
    return this.#read((reader) => ({ ok: true, found: readValue(reader, this.#name, judged.key) }));
  }

  /** Writes a value, durable once resolved; with `ifVersion` only over that version, or only where none exists. */
  async put(rawKey: string, value: Uint8Array, { ifVersion }: { ifVersion?: IfVersion } = {}): Promise<Put> {
    const judged = this.#judgeKey(rawKey, 'write');
    if (!judged.ok) return judged;
    const { key } = judged;
    if (value.byteLength > STORAGE_LIMITS.valueBytes) {
      const message = `Cannot write key ${quote(key)}: the value has ${value.byteLength} bytes, expected at most ${STORAGE_LIMITS.valueBytes}`;
      return refuseFor('too-large', message);
    }
    if (this.#isBusy()) return busy();
    // Boundary: a copy, taken now, so that the guest cannot change it before it is written.
    const copy = Buffer.from(value);
    const putting = { key, value: copy, ifVersion, quota: this.#quota };
    return this.#commit((tx) => putValue(tx, this.#name, putting));
  }

  /** Removes a value, durable once resolved; with `ifVersion` only that version. */
  async delete(rawKey: string, { ifVersion }: { ifVersion?: number } = {}): Promise<Deleted> {
    const judged = this.#judgeKey(rawKey, 'write');
    if (!judged.ok) return judged;
    if (this.#isBusy()) return busy();
    return this.#commit((tx) => deleteValue(tx, this.#name, { key: judged.key, ifVersion }));
  }

  /** A page of keys at and beneath a prefix, sorted by their bytes; `after` is the last key already seen. */
  async list(rawPrefix: string, { after, limit }: ListAsked): Promise<Listed> {
    const parsed = parsePrefix(rawPrefix);
    if (!parsed.ok) return refuseFor('invalid-key', sentenceOf(parsed.problem));
    const { value: prefix } = parsed;
    if (!this.#isGranted(prefix, 'read')) return denied('list', prefix === '' ? '/' : prefix);
    const cursor = after === undefined ? null : parseKey(after);
    if (cursor !== null && !cursor.ok) return refuseFor('invalid-key', sentenceOf(cursor.problem));
    const asked = { prefix, after: cursor?.value ?? null, limit };
    return this.#read((reader) => ({ ok: true, ...readPage(reader, this.#name, asked) }));
  }

  /** Withdraws the grants, at the end of the call. Earlier requests are still completed. */
  close(): void {
    this.#grants = NOTHING;
  }

  #judgeKey(rawKey: string, act: 'read' | 'write'): { readonly ok: true; key: StorageKey } | StorageRefusal {
    const parsed = parseKey(rawKey);
    if (!parsed.ok) return refuseFor('invalid-key', sentenceOf(parsed.problem));
    const { value: key } = parsed;
    return this.#isGranted(key, act) ? { ok: true, key } : denied(act, key);
  }

  /** Boundary: the only place where keys are checked against the grants. */
  #isGranted(place: StorageKey | StoragePrefix, act: 'read' | 'write'): boolean {
    return this.#grants[act].some((prefix) => isBeneath(place, prefix));
  }

  /** While writes of this space are pending, a read queues behind them and resolves when they are durable. */
  async #read<T>(look: (reader: Reader) => T): Promise<T | StorageRefusal> {
    if (this.#pending === 0) return look(this.#store);
    return this.#isBusy() ? busy() : this.#commit(look);
  }

  async #commit<T>(work: (tx: Transaction) => T): Promise<T> {
    this.#pending += 1;
    try {
      return await this.#store.commit(work);
    } finally {
      this.#pending -= 1;
    }
  }

  #isBusy(): boolean {
    return this.#pending >= STORAGE_LIMITS.pending;
  }
}

function denied(act: 'read' | 'write' | 'list', place: string): StorageRefusal {
  const message = `Cannot ${act} ${quote(place)}: no prefix of the call's grant covers it, expected one that does`;
  return refuseFor('denied', message);
}

function busy(): StorageRefusal {
  const message = `Cannot use the space: ${STORAGE_LIMITS.pending} requests of this call are under way, expected fewer`;
  return refuseFor('busy', message);
}
