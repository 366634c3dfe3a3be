import { createHash, timingSafeEqual } from 'node:crypto';
import { isChannelName, type Scope } from '../core/caller.ts';
import { makeId, type Random } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { formatPrincipal, isName, type Principal, parsePrincipal } from '../core/principal.ts';
import type { Migration } from '../store/migrate.ts';
import { adHoc, builder, insertInto, queries, type Reader, type Transaction } from '../store/transaction.ts';
import { inOrder, isScope, narrowToKind, SCOPES_OF_KIND } from './scopes.table.ts';

/*
 * Tokens that this gateway made. A token names a principal; its bearer is that principal until it expires or is
 * revoked. The store contains its name and a digest of its secret, so that neither a copy of the database nor a list
 * reveals a token. The secret is 256 random bits, which cannot be guessed: a plain digest is enough, and checking it
 * costs microseconds. This module never reveals which part of a wrong token was wrong, and reports expiry and
 * revocation only to a caller with the secret. Policies decide who may create or revoke one (invoke/tokens.ts).
 */

export type TokenRow = {
  readonly id: string;
  /** SHA-256 of the secret bytes, in hex: all that is kept of the secret. */
  readonly digest: string;
  readonly principal: string;
  readonly tenant: string;
  /** Scopes with a space between them, in the order of their table. */
  readonly scopes: string;
  /** Of earlier versions, which let a token name its approver; it counts for nothing. */
  readonly approver: string | null;
  readonly label: string;
  /** The device, and the client or the way in, that it is for; null: none. */
  readonly device: string | null;
  readonly channel: string | null;
  /** How many sessions of its own it may begin. */
  readonly sessions: number;
  readonly created_at_ms: number;
  readonly created_by: string;
  readonly expires_at_ms: number;
  readonly revoked_at_ms: number | null;
  readonly revoked_by: string | null;
};

/** `seq` is the order of creation, even if the clock was set back. */
type IdentityTables = { identity_token: TokenRow & { readonly seq: number } };

export const identityMigrations: readonly Migration[] = [
  {
    id: 'identity/001',
    sql: `
CREATE TABLE identity_token (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL CHECK (length(digest) = 64),
  principal TEXT NOT NULL,
  tenant TEXT NOT NULL,
  scopes TEXT NOT NULL,
  approver TEXT,
  label TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  revoked_at_ms INTEGER,
  revoked_by TEXT CHECK ((revoked_by IS NULL) = (revoked_at_ms IS NULL))
) STRICT;
CREATE INDEX identity_token_by_tenant ON identity_token (tenant, seq);`,
  },
  {
    id: 'identity/002',
    sql: `
ALTER TABLE identity_token ADD COLUMN device TEXT;
ALTER TABLE identity_token ADD COLUMN channel TEXT;
ALTER TABLE identity_token ADD COLUMN sessions INTEGER NOT NULL DEFAULT 0;`,
  },
];

const db = builder<IdentityTables>();
const query = queries<IdentityTables>();

/** What was made. The token is shown to its maker now and is not stored. */
type Created = { readonly id: string; readonly token: string };

type Creating = Minting & { readonly by: Principal; readonly nowMs: number };

export type Verified =
  | { readonly ok: true; readonly token: Token }
  | { readonly ok: false; readonly reason: 'invalid' | 'expired' | 'revoked' };

type TokensAsked = {
  /** Only those of this tenant; null: all. */
  readonly tenant?: string | null;
  readonly after: string | null;
  readonly limit: number;
};

/** Compared with when there is no such token, so that the timing is the same as when there is. */
const NOBODY = Buffer.alloc(32);

const insertToken = insertInto<TokenRow>('identity_token');

const selectById = query<{ id: string }>()((db, p) =>
  db.selectFrom('identity_token').selectAll().where('id', '=', p('id')),
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
  const { principal, tenant, scopes, expiresAtMs, label, device, channel, sessions, by, nowMs } = creating;
  checkMinting(creating, nowMs);
  const id = makeId('tok', nowMs, random);
  const secret = random.bytes(SECRET_BYTES);
  tx.run(insertToken, {
    ...{ id, digest: digestOf(secret).toString('hex'), tenant, label },
    ...{ principal: formatPrincipal(principal), scopes: inOrder(scopes).join(' ') },
    approver: null,
    ...{ device: device ?? null, channel: channel ?? null, sessions: sessions ?? 0 },
    ...{ created_at_ms: nowMs, created_by: formatPrincipal(by), expires_at_ms: expiresAtMs },
    ...{ revoked_at_ms: null, revoked_by: null },
  });
  return { id, token: formatToken({ id, secret }) };
}

/** A page of tokens, the newest first; `after` an unknown id there is nothing. */
export function listTokens(reader: Reader, { tenant = null, after, limit }: TokensAsked): readonly Token[] {
  const beforeSeq = after === null ? null : (reader.get(selectById, { id: after })?.seq ?? 0);
  let rows = db.selectFrom('identity_token').selectAll();
  if (tenant !== null) rows = rows.where('tenant', '=', tenant);
  if (beforeSeq !== null) rows = rows.where('seq', '<', beforeSeq);
  const page = reader.all(adHoc(rows.orderBy('seq', 'desc').limit(limit)), {});
  return page.map(tokenOf).filter((token) => token !== null);
}

/** The token of that id, valid or not; null when it does not exist. */
export function findToken(reader: Reader, id: string): Token | null {
  const row = reader.get(selectById, { id });
  return row === undefined ? null : tokenOf(row);
}

/** Revokes a token permanently; false when it does not exist or was revoked already. */
export function revokeToken(tx: Transaction, id: string, by: Principal, nowMs: number): boolean {
  return tx.run(updateRevoked, { id, by: formatPrincipal(by), nowMs }) > 0;
}

/** Authenticates a token. It reads the row each time, so that a revocation counts from the next request on. */
export function verifyToken(reader: Reader, raw: string, nowMs: number): Verified {
  const parts = parseToken(raw);
  if (parts === null) return { ok: false, reason: 'invalid' };
  const row = reader.get(selectById, { id: parts.id });
  const kept = row === undefined ? NOBODY : Buffer.from(row.digest, 'hex');
  // Boundary: the timing of the comparison reveals neither the digest nor whether the token exists.
  const isSame = kept.length === NOBODY.length && timingSafeEqual(digestOf(parts.secret), kept);
  const token = row === undefined || !isSame ? null : tokenOf(row);
  if (token === null) return { ok: false, reason: 'invalid' };
  const state = stateOf(token, nowMs);
  return state === 'active' ? { ok: true, token } : { ok: false, reason: state };
}

function digestOf(secret: Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** A token as lists show it; without its secret. */
export type Token = Readonly<NonNullable<ReturnType<typeof tokenOf>>>;

type TokenState = 'active' | 'expired' | 'revoked';

export function stateOf({ revokedAtMs, expiresAtMs }: Token, nowMs: number): TokenState {
  if (revokedAtMs !== null) return 'revoked';
  return nowMs < expiresAtMs ? 'active' : 'expired';
}

/** Reads a row; null when it was tampered with, and then it authenticates no one. */
export function tokenOf(row: TokenRow) {
  const principal = parsePrincipal(row.principal);
  // Boundary: a row that does not name its principal is valid for nothing, and one that claims too much is narrowed.
  if (principal === null) return null;
  const { device, channel } = row;
  // Boundary: a policy takes them as the word of the operator.
  if ((device !== null && !isName(device)) || (channel !== null && !isChannelName(channel))) return null;
  return {
    ...{ id: row.id, principal, tenant: row.tenant, label: row.label, device, channel },
    sessions: principal.kind === 'agent' ? 0 : row.sessions,
    scopes: narrowToKind(inOrder(row.scopes.split(' ').filter(isScope)), principal),
    ...{ createdAtMs: row.created_at_ms, createdBy: row.created_by, expiresAtMs: row.expires_at_ms },
    ...{ revokedAtMs: row.revoked_at_ms, revokedBy: row.revoked_by },
  };
}

/*
 * A token is `pls_`, 25 characters that name it, `_`, and 43 characters that are its secret: 32 random bytes in
 * base64url. The prefix is for secret scanners. The name is not a secret: records and lists contain it as `tok_…`. Each
 * token has exactly one spelling.
 */

const SECRET_BYTES = 32;

type TokenParts = { readonly id: string; readonly secret: Uint8Array };

const NAME_PART = '[0-9a-hjkmnp-tv-z]{25}';
// Boundary: 43 characters encode two bits more than the bytes. They must be zero, or four texts would be one token.
const TOKEN = new RegExp(`^pls_(${NAME_PART})_([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$`);
/** What may be a token, whole or in part; wider than the grammar, for texts that must contain none. */
const TOKEN_LIKE = /pls_[0-9a-z]{8}/i;

export function hasToken(text: string): boolean {
  return TOKEN_LIKE.test(text);
}

/** Whether a text claims to be a token of a gateway, valid or not. */
export function isOurs(text: string): boolean {
  return text.startsWith('pls_');
}

/** Reads a token; anything but its one spelling is null. */
export function parseToken(raw: string): TokenParts | null {
  const [, name, secret] = TOKEN.exec(raw) ?? [];
  if (name === undefined || secret === undefined) return null;
  return { id: `tok_${name}`, secret: Buffer.from(secret, 'base64url') };
}

export function formatToken({ id, secret }: TokenParts): string {
  return `pls_${id.slice('tok_'.length)}_${Buffer.from(secret).toString('base64url')}`;
}

export type Minting = {
  readonly principal: Principal;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  readonly expiresAtMs: number;
  /** What it is for, as its creator describes it; empty if not described. */
  readonly label: string;
  /** The device, and the client or the way in, of its holder; left out: none. */
  readonly device?: string | undefined;
  readonly channel?: string | undefined;
  /** How many sessions of its own it may begin in the time that a session may be idle; left out: none. */
  readonly sessions?: number | undefined;
};

/** A forgotten token expires by itself. */
const LONGEST_LIFE_MS = 366 * 86_400_000;
export const LABEL_CHARS = 128;

/** Refuses what no token may be, whoever requests it. */
export function checkMinting(minting: Minting, nowMs: number): void {
  const { principal, tenant, label } = minting;
  if (!isName(principal.name)) throw refuse(`the principal is called "${principal.name}"`, 'a name');
  if (!isName(tenant)) throw refuse(`the tenant is called "${tenant}"`, 'a name');
  checkScopes(minting);
  checkSource(minting);
  checkExpiry(minting, nowMs);
  if (label.length > LABEL_CHARS || /[\p{Cc}\p{Cf}\p{Surrogate}\u2028\u2029]/u.test(label))
    throw refuse('the label is too long or has control characters', `one line of ${LABEL_CHARS} characters`);
  // Boundary: a label is recorded and listed forever.
  if (hasToken(label)) throw refuse('the label has a token in it', 'text without a secret');
}

function checkScopes({ principal, scopes }: Minting): void {
  const allowed = SCOPES_OF_KIND[principal.kind];
  if (scopes.length === 0) throw refuse('it has no scope', `one of ${allowed.join(', ')}`);
  // Boundary: a scope that this kind of principal can never have is refused here, not dropped silently.
  const odd = inOrder(scopes).filter((scope) => !allowed.includes(scope));
  if (odd.length > 0)
    throw refuse(`${formatPrincipal(principal)} cannot have ${odd.join(', ')}`, allowed.join(', '));
}

/** More agents than one credential can keep apart. */
export const MOST_SESSIONS = 10_000;

function checkSource({ principal, device, channel, sessions = 0 }: Minting): void {
  if (device !== undefined && !isName(device)) throw refuse(`the device is called "${device}"`, 'a name');
  if (channel !== undefined && !isChannelName(channel))
    throw refuse(`the channel is called "${channel}"`, 'a name that is not the name of a door');
  if (!Number.isSafeInteger(sessions) || sessions < 0 || sessions > MOST_SESSIONS)
    throw refuse(`it would begin ${sessions} sessions`, `a whole number up to ${MOST_SESSIONS}`);
  // Boundary: an agent that begins sessions begins budgets.
  if (sessions > 0 && principal.kind === 'agent')
    throw refuse(`${formatPrincipal(principal)} cannot begin sessions`, 'a user or a service');
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
