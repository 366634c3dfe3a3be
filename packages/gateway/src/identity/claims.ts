import type { JWTPayload } from 'jose';
import type { Caller, Scope } from '../core/caller.ts';
import { formatPrincipal, isName, type Principal } from '../core/principal.ts';
import type { Issuer } from './issuer-url.ts';
import { isScope, narrowToKind } from './scope-words.ts';

/** What scopes of ours are called at an issuer that has those of others as well. */
export const SCOPE_PREFIX = 'palisade:';

/** Who the claims of a verified token say it is; null when they do not say it in a way that is a name here. */
export function callerOf(payload: JWTPayload, issuer: Issuer, tenant: string): Caller | null {
  const name = nameIn(payload, issuer.principalClaim);
  // Boundary: where the tenant comes from the token, a token without one is of no tenant, not of ours.
  const place = issuer.tenantClaim === null ? tenant : nameIn(payload, issuer.tenantClaim);
  if (name === null || place === null) return null;
  // Boundary: what kind of principal it is says the operator; a subject called "user:root" is no name.
  const principal: Principal = { kind: issuer.principalKind, name };
  return {
    ...{ principal, tenant: place, approver: null },
    scopes: new Set(narrowToKind(scopesIn(payload), principal)),
    credential: `oauth:${place}/${formatPrincipal(principal)}`,
  };
}

/** The scopes that a token has; one that has none of ours is good for calling, and for nothing else. */
function scopesIn({ scope }: JWTPayload): readonly Scope[] {
  const words = typeof scope === 'string' ? scope.split(' ') : [];
  const scopes = words.map((word) =>
    word.startsWith(SCOPE_PREFIX) ? word.slice(SCOPE_PREFIX.length) : word,
  );
  const ours = scopes.filter(isScope);
  return ours.length === 0 ? ['call'] : ours;
}

function nameIn(payload: JWTPayload, claim: string): string | null {
  const value = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
  return typeof value === 'string' && isName(value) ? value : null;
}
