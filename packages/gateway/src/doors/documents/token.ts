import { isoTime } from '../../core/clock.ts';
import { formatPrincipal } from '../../core/principal.ts';
import { stateOf, type Token } from '../../identity/tokens.ts';

/** A token as programs see it; its text is nowhere in it. */
export function tokenDocument(token: Token, nowMs: number) {
  const { id, principal, tenant, scopes, approver, label, createdBy, revokedAtMs, revokedBy } = token;
  return {
    ...{ id, state: stateOf(token, nowMs), principal: formatPrincipal(principal), tenant },
    ...{ scopes: [...scopes], approver: approver === null ? null : formatPrincipal(approver), label },
    ...{ createdAt: isoTime(token.createdAtMs), createdBy, expiresAt: isoTime(token.expiresAtMs) },
    ...{ revokedAt: revokedAtMs === null ? null : isoTime(revokedAtMs), revokedBy },
  };
}

export type TokenDocument = ReturnType<typeof tokenDocument>;
