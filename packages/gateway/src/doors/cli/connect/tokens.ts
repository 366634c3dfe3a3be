import { isoTime } from '../../../core/clock.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Principal } from '../../../core/principal.ts';
import { parseToken, verifyToken } from '../../../identity/tokens.ts';
import { HOLDS_ALL, mintToken, withdrawToken } from '../../../invoke/tokens.ts';
import type { Invocation } from '../verb.ts';

/* The token that a client sends: for one agent, for calls only, valid for 90 days. */

const LIFE_MS = 90 * 86_400_000;

export type MintedToken = { readonly id: string; readonly text: string; readonly expiresAt: string };

/** The person at the keyboard, who makes and revokes tokens. */
function personOf({ edge }: Invocation): Principal {
  return { kind: 'user', name: edge.env.user ?? 'local' };
}

/** Makes a token that authenticates a client as that agent. */
export async function makeToken(
  invocation: Invocation,
  agent: Principal,
  label: string,
): Promise<MintedToken> {
  const by = personOf(invocation);
  const gateway = await invocation.openGateway();
  try {
    const { token, about } = await mintToken(gateway, by, {
      ...HOLDS_ALL,
      principal: agent,
      tenant: gateway.config.gateway.tenant,
      scopes: ['call'],
      approver: by,
      label,
      expiresAtMs: invocation.edge.clock.nowMs() + LIFE_MS,
    });
    return { id: about.id, text: token, expiresAt: isoTime(about.expiresAtMs) };
  } finally {
    await gateway.close();
  }
}

/** Whether this gateway still accepts a token. */
export async function isValid(invocation: Invocation, token: string): Promise<boolean> {
  const records = await invocation.openRecords();
  try {
    return verifyToken(records.store, token, invocation.edge.clock.nowMs()).ok;
  } finally {
    await records.close();
  }
}

/** Revokes a token that is in no file any more; gives its id, or null when this gateway does not know it. */
export async function revoke(invocation: Invocation, token: string): Promise<string | null> {
  const id = parseToken(token)?.id ?? null;
  if (id === null) return null;
  const gateway = await invocation.openGateway();
  try {
    await withdrawToken(gateway, personOf(invocation), { id, tenant: null });
    return id;
  } catch (error) {
    if (error instanceof CodedError && error.code === 'token/unknown') return null;
    throw error;
  } finally {
    await gateway.close();
  }
}
