import { type Digest, digestValue } from '../core/digest.ts';
import { PROBLEM_LIMITS } from './limits.ts';
import { PALISADE_SCHEMA } from './schema.ts';

export type Policy = {
  readonly id: string;
  readonly file: string;
  readonly effect: 'permit' | 'forbid';
  readonly text: string;
};

/** Policies that passed the check together; only such a set ever decides. */
export type PolicySet = { readonly digest: Digest; readonly policies: readonly Policy[] };

export type PolicyProblem = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The id of the policy, or null when it is about the whole file or directory. */
  readonly policy: string | null;
  readonly message: string;
  readonly hint: string | null;
};

export type PolicyFile = { readonly name: string; readonly text: string };

/** The digest that receipts name: over the schema, and every policy by its id. */
export function policySetDigest(policies: readonly Policy[]): Digest {
  const byId = policies.map(({ id, text }) => [id, text] as const);
  byId.sort(([a], [b]) => (a < b ? -1 : 1));
  return digestValue({ schema: PALISADE_SCHEMA, policies: byId });
}

/** Cuts what quotes a policy, a path or a value to a length that fits a record. */
export function shorten(text: string): string {
  const { chars } = PROBLEM_LIMITS;
  if (text.length <= chars) return text;
  // A lone surrogate cannot be recorded as text.
  return `${text.slice(0, chars - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
