import type { Address } from './address.ts';
import type { AllowList } from './allowlist.ts';
import { type Denial, decide, denyAddress, type EgressRequest } from './decide.ts';
import type { Own } from './resolve.ts';

/** What decides on a request at any moment. */
export type Judge = {
  /** The list of this moment. */
  readonly list: () => AllowList;
  readonly resolve: { readonly own: Own };
};

/**
 * What speaks at this moment against a request that was allowed, or against the address that it goes to; null when
 * nothing does. Boundary: a list that changed counts for what was decided on before.
 */
export function denyNow(
  { list, resolve }: Judge,
  asked: EgressRequest,
  address: Address | null,
): Denial | null {
  const now = list();
  const decision = decide(now, asked);
  if (decision.verdict === 'deny') return decision;
  return address === null ? null : denyAddress(now, asked, address, resolve.own.addresses);
}
