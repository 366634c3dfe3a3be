import type { Scope } from '../core/caller.ts';
import { CodedError } from '../core/coded-error.ts';
import { formatPrincipal, isName, type Principal } from '../core/principal.ts';
import { inOrder } from './scope-words.ts';
import { SCOPES_OF_KIND } from './scopes.table.ts';
import { hasToken } from './token-text.ts';

/** What somebody wants a token to be. */
export type Minting = {
  readonly principal: Principal;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  readonly approver: Principal | null;
  readonly expiresAtMs: number;
  readonly label: string;
};

/** A token that is forgotten somewhere ends by itself. */
export const LONGEST_LIFE_MS = 366 * 86_400_000;
export const LABEL_CHARS = 128;

/** Refuses what no token may be, whoever asks for it. */
export function checkMinting(minting: Minting, nowMs: number): void {
  const { principal, tenant, approver, label } = minting;
  if (!isName(principal.name)) throw refuse(`the principal is called "${principal.name}"`, 'a name');
  if (!isName(tenant)) throw refuse(`the tenant is called "${tenant}"`, 'a name');
  checkScopes(minting);
  // Boundary: only people are asked. An agent that could name itself would approve its own calls.
  if (approver !== null && (approver.kind !== 'user' || !isName(approver.name)))
    throw refuse(`the approver is ${formatPrincipal(approver)}`, 'a person, as user:NAME');
  checkExpiry(minting, nowMs);
  if (label.length > LABEL_CHARS || /[\p{Cc}\p{Cf}\p{Surrogate}\u2028\u2029]/u.test(label))
    throw refuse('the label is too long or has control characters', `one line of ${LABEL_CHARS} characters`);
  // Boundary: a label is recorded and listed for ever.
  if (hasToken(label)) throw refuse('the label has a token in it', 'words that are no secret');
}

function checkScopes({ principal, scopes }: Minting): void {
  const allowed = SCOPES_OF_KIND[principal.kind];
  if (scopes.length === 0) throw refuse('it has no scope', `one of ${allowed.join(', ')}`);
  // Boundary: a scope that this kind of principal can never have is refused here, not dropped in silence.
  const odd = inOrder(scopes).filter((scope) => !allowed.includes(scope));
  if (odd.length > 0)
    throw refuse(`${formatPrincipal(principal)} cannot have ${odd.join(', ')}`, allowed.join(', '));
}

function checkExpiry({ expiresAtMs }: Minting, nowMs: number): void {
  const lifeMs = expiresAtMs - nowMs;
  if (Number.isSafeInteger(expiresAtMs) && lifeMs > 0 && lifeMs <= LONGEST_LIFE_MS) return;
  throw refuse(
    'it ends in the past or too late',
    `a time to come within ${LONGEST_LIFE_MS / 86_400_000} days`,
  );
}

function refuse(is: string, expected: string): CodedError {
  return new CodedError('door/wrong-usage', `Cannot make the token: ${is}, expected ${expected}`);
}
