import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import { formatPrincipal, type Principal } from '../../../core/principal.ts';
import { parseToken, verifyToken } from '../../../identity/tokens.ts';
import { placeIn } from '../input.ts';
import { withRecords } from '../opened.ts';
import { operate } from '../operate.ts';
import type { Invocation } from '../verb.ts';

/* The token that a client sends: for one agent, for calls only, valid for 90 days. */

const LIFE_MS = 90 * 86_400_000;

export type MintedToken = { readonly id: string; readonly text: string; readonly expiresAt: string };

/** Tokens are made and revoked by the person at the keyboard: --as names the principal of the client. */
function byPerson(invocation: Invocation): Invocation {
  return { ...invocation, flags: {} };
}

/** Makes a token that authenticates a client as that agent. */
export async function makeToken(
  invocation: Invocation,
  agent: Principal,
  label: string,
): Promise<MintedToken> {
  const person = byPerson(invocation);
  const { id, token, expiresAt } = await operate(person, 'createToken', {
    principal: formatPrincipal(agent),
    scopes: ['call'],
    label,
    ...placeIn(invocation),
    expiresAt: isoTime(invocation.edge.clock.nowMs() + LIFE_MS),
  });
  return { id, text: token, expiresAt };
}

/** Whether this gateway still accepts a token. */
export function isValid(invocation: Invocation, token: string): Promise<boolean> {
  const nowMs = invocation.edge.clock.nowMs();
  return withRecords(invocation, ({ store }) => verifyToken(store, token, nowMs).ok);
}

/** Revokes a token that is in no file any more; gives its id, or null when this gateway does not know it. */
export async function revoke(invocation: Invocation, token: string): Promise<string | null> {
  const id = parseToken(token)?.id ?? null;
  if (id === null) return null;
  try {
    return (await operate(byPerson(invocation), 'revokeToken', { id })).id;
  } catch (error) {
    if (error instanceof CodedError && error.code === 'token/unknown') return null;
    throw error;
  }
}
