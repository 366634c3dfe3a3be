import { placeOf, type Scope } from '../core/caller.ts';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import { inOrder } from '../identity/scopes.table.ts';
import {
  checkMinting,
  createToken,
  findToken,
  hasToken,
  type Minting,
  revokeToken,
  type Token,
} from '../identity/tokens.ts';
import { administer } from './administer.ts';
import type { Gateway } from './gateway.ts';

/** The scopes of the caller's credential; all of them where a process acts by itself. */
export type Held = { readonly held: ReadonlySet<Scope> };

/**
 * Creates a token on behalf of an administrator of its tenant, and records who did and its scopes. This is the only time
 * that its text is visible.
 */
export async function mintToken(gateway: Gateway, by: Principal, minting: Minting & Held) {
  const { clock, random, journal } = gateway;
  checkMinting(minting, clock.nowMs());
  requireHeld(minting);
  return administer(gateway, { by, tenant: minting.tenant }, (tx) => {
    const nowMs = clock.nowMs();
    const { id, token } = createToken(tx, { ...minting, by, nowMs }, random);
    const about = findToken(tx, id);
    if (about === null) throw new TypeError('Cannot make the token: its row cannot be read back');
    const { principal, tenant, scopes, expiresAtMs, label, device, channel, sessions } = about;
    journal.append(tx, {
      kind: 'token-created',
      principal: formatPrincipal(by),
      tenant,
      body: {
        token: id,
        for: formatPrincipal(principal),
        scopes: [...scopes],
        label,
        ...placeOf({ device: device ?? undefined, channel: channel ?? undefined }),
        ...(sessions > 0 ? { sessions } : {}),
        expiresAt: isoTime(expiresAtMs),
      },
    });
    return { token, about };
  });
}

type Withdrawing = {
  readonly id: string;
  /** Tokens of other tenants do not exist for the caller; null: all do. */
  readonly tenant: string | null;
};

/** Revokes a token, from the next request on. One that is already revoked stays as it is, without a second record. */
export async function withdrawToken(gateway: Gateway, by: Principal, asked: Withdrawing): Promise<Token> {
  const { clock, store, journal } = gateway;
  const found = findToken(store, asked.id);
  if (found === null || (asked.tenant !== null && found.tenant !== asked.tenant)) throw unknown(asked.id);
  const { id, tenant } = found;
  return administer(gateway, { by, tenant }, (tx) => {
    if (revokeToken(tx, id, by, clock.nowMs())) {
      journal.append(tx, {
        kind: 'token-revoked',
        principal: formatPrincipal(by),
        tenant,
        body: { token: id, for: formatPrincipal(found.principal) },
      });
    }
    const about = findToken(tx, id);
    if (about === null) throw unknown(id);
    return about;
  });
}

/** Boundary: a caller cannot create a credential with more scopes than its own. */
function requireHeld({ scopes, held }: Minting & Held): void {
  const missing = inOrder(scopes).filter((scope) => !held.has(scope));
  if (missing.length === 0) return;
  throw new CodedError(
    'door/insufficient-scope',
    `Cannot make the token: it would be good for ${missing.join(', ')}, expected no more than the credential that asks is good for`,
  );
}

function unknown(id: string): CodedError {
  // Boundary: a token that was passed in place of its id does not appear in a message or a log.
  const shown = hasToken(id) ? 'that was given' : `"${id}"`;
  return new CodedError('token/unknown', `Cannot find the token ${shown}: there is none of that id`, {
    ...(hasToken(id) ? { remedy: 'Give the id: tok_ and the 25 characters behind pls_.' } : {}),
  });
}
