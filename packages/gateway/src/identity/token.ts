import type { Scope } from '../core/caller.ts';
import { type Principal, parsePrincipal } from '../core/principal.ts';
import { inOrder, isScope, narrowToKind } from './scope-words.ts';
import type { TokenRow } from './tables.ts';

/** A token as lists show it; nothing of its secret is in it. */
export type Token = {
  readonly id: string;
  readonly principal: Principal;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  /** The person who sits behind the client and may be asked there; null: nobody. */
  readonly approver: Principal | null;
  /** What it is for, in the words of who made it; empty: nothing was said. */
  readonly label: string;
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly expiresAtMs: number;
  readonly revokedAtMs: number | null;
  readonly revokedBy: string | null;
};

export type TokenState = 'active' | 'expired' | 'revoked';

export function stateOf({ revokedAtMs, expiresAtMs }: Token, nowMs: number): TokenState {
  if (revokedAtMs !== null) return 'revoked';
  return nowMs < expiresAtMs ? 'active' : 'expired';
}

/** Reads a row; null when it was meddled with, and then it is the token of nobody. */
export function tokenOf(row: TokenRow): Token | null {
  const principal = parsePrincipal(row.principal);
  const approver = row.approver === null ? null : parsePrincipal(row.approver);
  // Boundary: a row that does not say who it is for is good for nothing, and one that says too much for less.
  if (principal === null || (row.approver !== null && approver?.kind !== 'user')) return null;
  return {
    ...{ id: row.id, principal, tenant: row.tenant, approver, label: row.label },
    scopes: narrowToKind(inOrder(row.scopes.split(' ').filter(isScope)), principal),
    ...{ createdAtMs: row.created_at_ms, createdBy: row.created_by, expiresAtMs: row.expires_at_ms },
    ...{ revokedAtMs: row.revoked_at_ms, revokedBy: row.revoked_by },
  };
}
