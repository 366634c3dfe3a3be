import type { Digest } from '../core/digest.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import { type Policy, type PolicySet, policySetDigest } from './policy-set.ts';
import {
  FIND_ACTIVE,
  FIND_ANY_SET,
  FIND_CHECK,
  FIND_REFUSAL,
  FIND_SET,
  KEEP_ACTIVE,
  KEEP_CHECK,
  KEEP_REFUSAL,
  KEEP_SET,
} from './tables.ts';

/** The part of the store that this room uses. */
export type PolicyStore = Pick<Reader, 'get'> & {
  commit<T>(work: (tx: Transaction) => T): Promise<T>;
};

type Row = { readonly digest: string; readonly policies_json: string };

/** The set that was active last, in this process or another; null when there is none that is whole. */
export function recallActive(store: PolicyStore): PolicySet | null {
  return toSet(store.get(FIND_ACTIVE, {}));
}

/** Tells whether any set was ever active in this state directory, also one whose row is no longer whole. */
export function hadAnySet(store: PolicyStore): boolean {
  return store.get(FIND_ANY_SET, {}) !== undefined;
}

/** The set that a check with this very key let pass. */
export function recallChecked(store: PolicyStore, key: string): PolicySet | null {
  return toSet(store.get(FIND_CHECK, { key }));
}

/** The set that a receipt names, with every text; sets are kept for good. */
export function recallSet(store: PolicyStore, digest: Digest): PolicySet | null {
  return toSet(store.get(FIND_SET, { digest }));
}

/** Remembers that a set passed its check and is active now. */
export function remember(store: PolicyStore, set: PolicySet, key: string, nowMs: number): Promise<void> {
  const { digest, policies } = set;
  return store.commit((tx) => {
    tx.run(KEEP_SET, { digest, policies: JSON.stringify(policies), nowMs });
    tx.run(KEEP_ACTIVE, { digest });
    tx.run(KEEP_CHECK, { key, digest });
  });
}

/** Tells whether this refusal was reported, by this process or another. */
export function wasRefusalTold(store: PolicyStore, key: string): boolean {
  return store.get(FIND_REFUSAL, { key }) !== undefined;
}

export function rememberRefusal(store: PolicyStore, key: string, nowMs: number): Promise<number> {
  return store.commit((tx) => tx.run(KEEP_REFUSAL, { key, nowMs }));
}

function toSet(row: Row | undefined): PolicySet | null {
  if (row === undefined) return null;
  const policies = JSON.parse(row.policies_json) as Policy[];
  const digest = policySetDigest(policies);
  // Boundary: a row whose texts are not those of its digest was not written by us, or under other words.
  return digest === row.digest ? { digest, policies } : null;
}
