import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import { type Caller, isChannelName, placeOf, type Scope } from '../core/caller.ts';
import type { Clock } from '../core/clock.ts';
import { formatPrincipal, isName, type Principal } from '../core/principal.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import type { Issuer } from './issuer-url.ts';
import { isScope, narrowToKind } from './scopes.table.ts';

/*
 * The gateway as an OAuth 2.1 resource server: tokens of one authorization server, which the operator named, are
 * accepted besides our own. A token is a JWT that this issuer signed, for this audience, that is valid now. A token is
 * hostile until its signature is verified with a key of the issuer, and its header only selects one of these keys: the
 * algorithms are our own list, keys or URLs inside a token are ignored. Revocation by the issuer is not visible here:
 * short lifetimes are its job. Tokens are never passed on, kept or logged.
 */

/** Signatures that only the holder of a private key can make. Never `none`, and never one by a shared secret. */
export const ALGORITHMS: readonly string[] = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** The declared type: an access token (RFC 9068), or a JWT of an issuer that does not distinguish them. */
const TYPES: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt', 'jwt']);
/** By how much the clocks of the issuer and of this machine may differ. */
const CLOCK_TOLERANCE_S = 10;

type OauthVerdict =
  | { readonly ok: true; readonly caller: Caller }
  /** `why` is for the operator's log: our own text, and nothing of the token. */
  | { readonly ok: false; readonly reason: 'invalid' | 'expired'; readonly why: string };

export type OauthParts = {
  readonly issuer: Issuer;
  readonly keys: IssuerKeys;
  readonly tenant: string;
  readonly clock: Clock;
};

/** Authenticates a token of the issuer. It never throws, whatever the text is. */
export async function verifyAccessToken(raw: string, parts: OauthParts): Promise<OauthVerdict> {
  try {
    if (!isPlainJwt(raw)) return refuse('malformed');
    const { alg, typ, kid } = decodeProtectedHeader(raw);
    // Boundary: the token does not choose how it is checked; `none` and secrets that are public keys end here.
    if (typeof alg !== 'string' || !ALGORITHMS.includes(alg)) return refuse('algorithm');
    // Boundary: what the issuer signed for another purpose is not an access token.
    if (typeof typ !== 'string' || !TYPES.has(typ.toLowerCase())) return refuse('type');
    if (kid !== undefined && typeof kid !== 'string') return refuse('malformed');
    const keys = await parts.keys.for({ alg, ...(kid === undefined ? {} : { kid }) });
    if (keys === null) return refuse('no-keys');
    const { payload } = await jwtVerify(raw, keys, termsOf(parts));
    const caller = callerOf(payload, parts.issuer, parts.tenant);
    return caller === null ? refuse('no-principal') : { ok: true, caller };
  } catch (error) {
    return error instanceof errors.JWTExpired
      ? { ok: false, reason: 'expired', why: 'expired' }
      : refuse(whyOf(error));
  }
}

function termsOf({ issuer, clock }: OauthParts) {
  return {
    algorithms: [...ALGORITHMS],
    issuer: issuer.issuer,
    audience: issuer.audience,
    // Boundary: a token without an expiry or an issuer is not valid.
    requiredClaims: ['iss', 'aud', 'exp'],
    clockTolerance: CLOCK_TOLERANCE_S,
    currentDate: new Date(clock.nowMs()),
  };
}

/** Three parts of base64url, each in its one spelling. */
function isPlainJwt(raw: string): boolean {
  const parts = raw.split('.', 4);
  return parts.length === 3 && parts.every(isCanonical);
}

/** Boundary: one token has one text, so that counting or revoking by text cannot be evaded. */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

function whyOf(error: unknown): string {
  return error instanceof errors.JOSEError ? error.code.toLowerCase().replaceAll('_', '-') : 'malformed';
}

function refuse(why: string): OauthVerdict {
  return { ok: false, reason: 'invalid', why };
}

/** The prefix of our scopes at an issuer that also has those of other services. */
export const SCOPE_PREFIX = 'palisade:';

/** The principal in the claims of a verified token; null when they contain no valid name. */
function callerOf(payload: JWTPayload, issuer: Issuer, tenant: string): Caller | null {
  const name = nameIn(payload, issuer.principalClaim);
  // Boundary: where the tenant comes from the token, a token without one has no tenant, not ours.
  const place = issuer.tenantClaim === null ? tenant : nameIn(payload, issuer.tenantClaim);
  if (name === null || place === null) return null;
  const device = optionalIn(payload, issuer.deviceClaim, isName);
  const channel = optionalIn(payload, issuer.channelClaim, isChannelName);
  // Boundary: what the issuer says and cannot be understood is not taken for nothing.
  if (device === null || channel === null) return null;
  // Boundary: the operator sets the kind of principal; a subject called "user:root" is not a valid name.
  const principal: Principal = { kind: issuer.principalKind, name };
  return {
    ...{ principal, tenant: place, approver: null },
    scopes: new Set(narrowToKind(scopesIn(payload), principal)),
    credential: `oauth:${place}/${formatPrincipal(principal)}`,
    ...placeOf({ device, channel }),
  };
}

/** The scopes of a token; one that has none of ours is valid for calling, and for nothing else. */
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

/** A claim that a token may have; undefined where it has none or none is configured, null where it is not a valid name. */
function optionalIn(
  payload: JWTPayload,
  claim: string | null,
  isValid: (text: string) => boolean,
): string | null | undefined {
  if (claim === null || !Object.hasOwn(payload, claim)) return undefined;
  const value = payload[claim];
  return typeof value === 'string' && isValid(value) ? value : null;
}
