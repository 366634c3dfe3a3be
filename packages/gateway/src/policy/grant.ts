import type { ApprovalFact, CheckedCall } from '../core/checked-call.ts';
import type { Digest } from '../core/digest.ts';
import type { Limits } from '../core/limits.ts';

/** The only ticket into a tier: one call that the policies allow, to be spent once. */
export type Grant = {
  readonly call: CheckedCall;
  readonly limits: Limits;
  readonly decidedBy: readonly string[];
  readonly setDigest: Digest;
  readonly approval: ApprovalFact | null;
};

const unspent: WeakSet<Grant> = new WeakSet();

/** Makes a grant. Only authorize.ts may import this; a test holds it. */
export function makeGrant(terms: Grant): Grant {
  const { call, limits, decidedBy, setDigest, approval } = terms;
  const grant: Grant = Object.freeze({
    call: Object.freeze({ ...call }),
    limits: Object.freeze({ ...limits }),
    decidedBy: Object.freeze([...decidedBy]),
    setDigest,
    approval: approval === null ? null : Object.freeze({ ...approval }),
  });
  unspent.add(grant);
  return grant;
}

/** Turns a grant back into its call, once. */
export function spend(grant: Grant): CheckedCall {
  // Boundary: a copy, a look-alike and a spent grant are not in the set.
  if (!unspent.delete(grant)) throw new TypeError('Cannot run call: the grant is forged or already spent');
  return grant.call;
}
