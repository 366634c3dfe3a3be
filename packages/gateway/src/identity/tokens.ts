import { createHash, timingSafeEqual } from 'node:crypto';
import { makeId, type Random } from '../core/clock.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import { checkMinting, type Minting } from './minting.ts';
import { inOrder } from './scope-words.ts';
import { query, type TokenRow } from './tables.ts';
import { stateOf, type Token, tokenOf } from './token.ts';
import { formatToken, parseToken, SECRET_BYTES } from './token-text.ts';

/*
 * Tokens that this gateway made. A token names a principal; whoever has it is that principal until it ends or is revoked.
 * The store has its name and a digest of its secret, so that neither a copy of the database nor a list gives a token away.
 * The secret is 256 bits of chance, which nobody guesses: a plain digest is enough, and checking it costs microseconds.
 * This room never says which part of a wrong token was wrong, and tells of expiry and revocation only to whoever has the
 * secret. Who may make or revoke one is for the policies to say (invoke/tokens.ts).
 */

/** What was made. The token is shown to its maker now and is known to nobody here afterwards. */
export type Created = { readonly id: string; readonly token: string };

export type Creating = Minting & { readonly by: Principal; readonly nowMs: number };

export type Verified =
  | { readonly ok: true; readonly token: Token }
  | { readonly ok: false; readonly reason: 'invalid' | 'expired' | 'revoked' };

export type TokensAsked = {
  /** Only those of this tenant; null: all. */
  readonly tenant?: string | null;
  /** The id of the last one already seen. */
  readonly after: string | null;
  readonly limit: number;
};

/** Compared with where there is no such token, so that this takes as long as where there is. */
const NOBODY = Buffer.alloc(32);

const insertToken = query<TokenRow>()((db, p) =>
  db.insertInto('identity_token').values({
    seq: null as never,
    ...{ id: p('id'), digest: p('digest'), principal: p('principal'), tenant: p('tenant') },
    ...{ scopes: p('scopes'), approver: p('approver'), label: p('label') },
    ...{ created_at_ms: p('created_at_ms'), created_by: p('created_by') },
    ...{ expires_at_ms: p('expires_at_ms'), revoked_at_ms: null, revoked_by: null },
  }),
);

const selectById = query<{ id: string }>()((db, p) =>
  db.selectFrom('identity_token').selectAll().where('id', '=', p('id')),
);

type Page = { beforeSeq: number; limit: number };

const selectPage = query<Page>()((db, p) =>
  db
    .selectFrom('identity_token')
    .selectAll()
    .where('seq', '<', p('beforeSeq'))
    .orderBy('seq', 'desc')
    .limit(p('limit')),
);

const selectPageOfTenant = query<Page & { tenant: string }>()((db, p) =>
  db
    .selectFrom('identity_token')
    .selectAll()
    .where('tenant', '=', p('tenant'))
    .where('seq', '<', p('beforeSeq'))
    .orderBy('seq', 'desc')
    .limit(p('limit')),
);

const updateRevoked = query<{ id: string; by: string; nowMs: number }>()((db, p) =>
  db
    .updateTable('identity_token')
    .set({ revoked_at_ms: p('nowMs'), revoked_by: p('by') })
    .where('id', '=', p('id'))
    .where('revoked_at_ms', 'is', null),
);

/** Makes a token. What is kept of it cannot be used in its place. */
export function createToken(tx: Transaction, creating: Creating, random: Random): Created {
  const { principal, tenant, scopes, approver, expiresAtMs, label, by, nowMs } = creating;
  checkMinting(creating, nowMs);
  const id = makeId('tok', nowMs, random);
  const secret = random.bytes(SECRET_BYTES);
  tx.run(insertToken, {
    ...{ id, digest: digestOf(secret).toString('hex'), tenant, label },
    ...{ principal: formatPrincipal(principal), scopes: inOrder(scopes).join(' ') },
    approver: approver === null ? null : formatPrincipal(approver),
    ...{ created_at_ms: nowMs, created_by: formatPrincipal(by), expires_at_ms: expiresAtMs },
    ...{ revoked_at_ms: null, revoked_by: null },
  });
  return { id, token: formatToken({ id, secret }) };
}

/** A page of tokens, the newest first; `after` an unknown id there is nothing. */
export function listTokens(reader: Reader, { tenant = null, after, limit }: TokensAsked): readonly Token[] {
  const beforeSeq =
    after === null ? Number.MAX_SAFE_INTEGER : (reader.get(selectById, { id: after })?.seq ?? 0);
  const rows =
    tenant === null
      ? reader.all(selectPage, { beforeSeq, limit })
      : reader.all(selectPageOfTenant, { tenant, beforeSeq, limit });
  return rows.map(tokenOf).filter((token) => token !== null);
}

/** The token of that id, good or not; null when there is none. */
export function findToken(reader: Reader, id: string): Token | null {
  const row = reader.get(selectById, { id });
  return row === undefined ? null : tokenOf(row);
}

/** Ends a token for good; false when there is none of that id or it was revoked already. */
export function revokeToken(tx: Transaction, id: string, by: Principal, nowMs: number): boolean {
  return tx.run(updateRevoked, { id, by: formatPrincipal(by), nowMs }) > 0;
}

/** Tells whose token a text is. It reads the row each time, so that a revocation counts from the next request on. */
export function verifyToken(reader: Reader, raw: string, nowMs: number): Verified {
  const parts = parseToken(raw);
  if (parts === null) return { ok: false, reason: 'invalid' };
  const row = reader.get(selectById, { id: parts.id });
  const kept = row === undefined ? NOBODY : Buffer.from(row.digest, 'hex');
  // Boundary: how long the comparison takes tells nothing of the digest, nor whether there is such a token.
  const isSame = kept.length === NOBODY.length && timingSafeEqual(digestOf(parts.secret), kept);
  const token = row === undefined || !isSame ? null : tokenOf(row);
  if (token === null) return { ok: false, reason: 'invalid' };
  const state = stateOf(token, nowMs);
  return state === 'active' ? { ok: true, token } : { ok: false, reason: state };
}

function digestOf(secret: Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest();
}
