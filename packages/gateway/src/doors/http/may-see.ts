import type { Caller } from '../../core/caller.ts';
import { CodedError } from '../../core/coded-error.ts';
import { formatPrincipal } from '../../core/principal.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import { authorizeAct } from '../../policy/authorize.ts';
import type { Asked } from './route.ts';

/*
 * Who sees what. Everybody sees what is their own; what is of others in the same tenant takes a credential for it and the
 * policies' yes to `readJournal`; what is of another tenant is not there.
 */

/** What something is of. */
export type Owned = { readonly tenant: string; readonly principal: string };

type Asking = Pick<Asked, 'caller'> & { readonly gateway: Pick<Gateway, 'policy' | 'clock'> };

/** Whether this caller may read what others of its tenant did, with a credential that is good for one of these scopes. */
export function mayReadAll({ gateway, caller }: Asking, scopes: readonly ('read' | 'approve')[]): boolean {
  if (!scopes.some((scope) => caller.scopes.has(scope))) return false;
  return readRuling({ gateway, caller }).allowed;
}

/** Refuses, with what the policies said, whoever may not read what others of its tenant did. */
export function requireReader(asking: Asking): void {
  const { allowed, message } = readRuling(asking);
  if (!allowed) throw new CodedError('policy/denied', message);
}

function readRuling({ gateway, caller }: Asking) {
  const { principal, tenant } = caller;
  return authorizeAct(gateway.policy, principal, 'readJournal', { tenant, nowMs: gateway.clock.nowMs() });
}

/** Somebody who looks at calls: whether they may read those of others is asked once. */
export type Looking = Pick<Asked, 'gateway' | 'caller'> & { readonly readsAll: boolean };

export function lookingOf({ gateway, caller }: Pick<Asked, 'gateway' | 'caller'>): Looking {
  requireOneOf(caller, ['call', 'read']);
  return { gateway, caller, readsAll: mayReadAll({ gateway, caller }, ['read']) };
}

/** Whether something is there for this caller at all. */
export function isSeen({ caller, readsAll }: Pick<Looking, 'caller' | 'readsAll'>, owned: Owned): boolean {
  // Boundary: whatever the policies say, nothing of another tenant is there.
  return owned.tenant === caller.tenant && (readsAll || isOwn(caller, owned));
}

/** Whether something is of this very caller. */
export function isOwn({ principal, tenant }: Caller, owned: Owned): boolean {
  return owned.tenant === tenant && owned.principal === formatPrincipal(principal);
}

/** Refuses a credential that is good for none of these. */
export function requireOneOf({ scopes }: Caller, wanted: readonly ('call' | 'read' | 'approve')[]): void {
  if (wanted.some((scope) => scopes.has(scope))) return;
  const message = `Cannot read: the credential has none of the scopes ${wanted.join(', ')}, expected one of them`;
  throw new CodedError('door/insufficient-scope', message);
}

/** Refuses callers of other tenants than the gateway's own: what is of the whole gateway is for its operators. */
export function requireHome({ gateway, caller }: Pick<Asked, 'gateway' | 'caller'>): void {
  const { tenant } = gateway.config.gateway;
  // Boundary: no policy about its own tenant lets a tenant reach what all of them share.
  if (caller.tenant === tenant) return;
  throw new CodedError(
    'policy/denied',
    `Cannot operate the gateway as ${formatPrincipal(caller.principal)} of tenant "${caller.tenant}": expected tenant "${tenant}"`,
  );
}
