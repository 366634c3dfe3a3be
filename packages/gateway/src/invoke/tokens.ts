import { ALL_SCOPES, type Scope } from '../core/caller.ts';
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
import { requireAdministrator } from './administer.ts';
import type { Gateway } from './gateway.ts';

/** What the credential of whoever asks is good for; all of it where a process acts by itself. */
export type Held = { readonly held: ReadonlySet<Scope> };

export const HOLDS_ALL: Held = { held: new Set(ALL_SCOPES) };

/** A token that was just made; the only time that its text is seen. */
export type Minted = { readonly token: string; readonly about: Token };

/** Makes a token in the name of somebody who may administer its tenant, and records who did and what it is good for. */
export async function mintToken(gateway: Gateway, by: Principal, minting: Minting & Held): Promise<Minted> {
  const { clock, random, store, journal } = gateway;
  checkMinting(minting, clock.nowMs());
  requireHeld(minting);
  requireAdministrator(gateway, by, minting.tenant);
  return store.commit((tx) => {
    const nowMs = clock.nowMs();
    const { id, token } = createToken(tx, { ...minting, by, nowMs }, random);
    const about = findToken(tx, id);
    if (about === null) throw new TypeError('Cannot make the token: its row cannot be read back');
    const { principal, tenant, scopes, approver, expiresAtMs, label } = about;
    journal.append(tx, {
      ...{ kind: 'token-created', call: null, principal: formatPrincipal(by), tool: null, tenant },
      body: {
        ...{ token: id, for: formatPrincipal(principal), scopes: [...scopes], label },
        approver: approver === null ? null : formatPrincipal(approver),
        expiresAt: isoTime(expiresAtMs),
      },
    });
    return { token, about };
  });
}

export type Withdrawing = {
  readonly id: string;
  /** Tokens of other tenants are not there for whoever asks; null: all are. */
  readonly tenant: string | null;
};

/** Revokes a token, from the next request on. One that was revoked before stays as it is, without a second record. */
export async function withdrawToken(gateway: Gateway, by: Principal, asked: Withdrawing): Promise<Token> {
  const { clock, store, journal } = gateway;
  const found = findToken(store, asked.id);
  if (found === null || (asked.tenant !== null && found.tenant !== asked.tenant)) throw unknown(asked.id);
  const { id, tenant } = found;
  requireAdministrator(gateway, by, tenant);
  return store.commit((tx) => {
    if (revokeToken(tx, id, by, clock.nowMs())) {
      journal.append(tx, {
        ...{ kind: 'token-revoked', call: null, principal: formatPrincipal(by), tool: null, tenant },
        body: { token: id, for: formatPrincipal(found.principal) },
      });
    }
    const about = findToken(tx, id);
    if (about === null) throw unknown(id);
    return about;
  });
}

/** Boundary: nobody makes a credential that is good for more than the one they came with. */
function requireHeld({ scopes, approver, held }: Minting & Held): void {
  const wanted = approver === null ? scopes : [...scopes, 'approve' as const];
  const missing = inOrder(wanted).filter((scope) => !held.has(scope));
  if (missing.length === 0) return;
  throw new CodedError(
    'door/insufficient-scope',
    `Cannot make the token: it would be good for ${missing.join(', ')}, expected no more than the credential that asks is good for`,
  );
}

function unknown(id: string): CodedError {
  // Boundary: who gives the token in place of its id does not find it in a message or a log.
  const shown = hasToken(id) ? 'that was given' : `"${id}"`;
  return new CodedError('token/unknown', `Cannot find the token ${shown}: there is none of that id`, {
    ...(hasToken(id) ? { remedy: 'Give the id: tok_ and the 25 characters behind pls_.' } : {}),
  });
}
