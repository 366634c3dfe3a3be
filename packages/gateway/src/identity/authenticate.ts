import type { Config } from '../config/config.ts';
import { type Caller, placeOf } from '../core/caller.ts';
import type { Clock } from '../core/clock.ts';
import { type Log, NO_LOG } from '../core/log.ts';
import type { Lookup } from '../egress/resolve.ts';
import type { Reader } from '../store/transaction.ts';
import { documentFetcher, type Network } from './issuer-documents.ts';
import { findKeys, IssuerKeys } from './issuer-keys.ts';
import { issuerOf } from './issuer-url.ts';
import { type OauthParts, verifyAccessToken } from './oauth.ts';
import { isOurs, verifyToken } from './tokens.ts';

/*
 * Authenticates the caller, for doors that strangers can reach. Only the value of the Authorization header counts: no
 * other header, query, body or address identifies the caller. A token that begins with `pls_` is one of ours or
 * invalid; everything else is a token of the issuer, where there is one. Nothing is remembered from one request to the
 * next but the keys of the issuer, so that a revocation takes effect at once. The answer to the caller is the same for
 * every wrong token; the reason goes to the log, without a character of the token.
 */

type AuthenticatorParts = {
  readonly reader: Reader;
  readonly config: Pick<Config, 'oauth' | 'gateway'>;
  readonly clock: Clock;
  readonly log?: Log;
  /** Another way to find the addresses of names, for tests. */
  readonly lookup?: Lookup;
  /** The certificate authorities for the hosts of the issuer, instead of those that Node trusts. */
  readonly trust?: Network['trust'];
};

type Refused = Extract<Authenticated, { ok: false }>;

const REFUSALS: Readonly<Record<Refused['reason'], Refused>> = {
  missing: refusal(
    'missing',
    'the request has no credential, expected the header "Authorization: Bearer TOKEN"',
  ),
  invalid: refusal('invalid', 'the credential is not valid here, expected a valid token'),
  expired: refusal('expired', 'the token has expired, expected one that is valid now'),
  revoked: refusal('revoked', 'the token was revoked, expected one that is valid now'),
};

/** Makes the authenticator of a gateway; settings by which keys could be forged are refused here, before any request. */
export function makeAuthenticator(parts: AuthenticatorParts): Authenticator {
  const { log = NO_LOG } = parts;
  const oauth = oauthOf(parts, log);
  return async ({ authorization }) => {
    if (authorization === null) return REFUSALS.missing;
    const raw = readBearer(authorization);
    if (raw === null) return refuse(log, 'invalid', 'header');
    try {
      // Boundary: what looks like one of our tokens is never treated as anything else.
      if (isOurs(raw)) return checkOwn(raw, parts, log);
      if (oauth === null) return refuse(log, 'invalid', 'unknown-kind');
      const verdict = await verifyAccessToken(raw, oauth);
      return verdict.ok ? verdict : refuse(log, verdict.reason, verdict.why);
    } catch (error) {
      // Boundary: what cannot be checked is not valid.
      log('error', 'credential-unchecked', { error: error instanceof Error ? error.name : 'unknown' });
      return REFUSALS.invalid;
    }
  };
}

function checkOwn(raw: string, { reader, clock }: AuthenticatorParts, log: Log): Authenticated {
  const verified = verifyToken(reader, raw, clock.nowMs());
  if (!verified.ok) return refuse(log, verified.reason, `token-${verified.reason}`);
  const { id, principal, tenant, scopes, device, channel, sessions } = verified.token;
  // Boundary: a question is answered with the credential that it is asked over, so only a person's own can answer.
  const approver = principal.kind === 'user' && scopes.includes('approve') ? principal : null;
  const place = placeOf({ device: device ?? undefined, channel: channel ?? undefined });
  const caller = { principal, tenant, scopes: new Set(scopes), credential: `token:${id}`, approver };
  return { ok: true, caller: { ...caller, ...place, ...(sessions > 0 ? { sessions } : {}) } };
}

function oauthOf({ config, clock, lookup, trust }: AuthenticatorParts, log: Log): OauthParts | null {
  const issuer = issuerOf(config.oauth);
  if (issuer === null) return null;
  const fetch = documentFetcher({
    clock,
    ...(lookup === undefined ? {} : { lookup }),
    ...(trust === undefined ? {} : { trust }),
  });
  const keys = new IssuerKeys({ load: () => findKeys(issuer, fetch), clock, log });
  return { issuer, keys, tenant: config.gateway.tenant, clock };
}

function refuse(log: Log, reason: Refused['reason'], why: string): Refused {
  log('debug', 'credential-refused', { why });
  return REFUSALS[reason];
}

function refusal(reason: Refused['reason'], is: string): Refused {
  return { ok: false, reason, message: `Cannot authenticate: ${is}` };
}

/** The value of the Authorization header; null: none. */
export type Presented = { readonly authorization: string | null };

export type Authenticated =
  | { readonly ok: true; readonly caller: Caller }
  | {
      readonly ok: false;
      readonly reason: 'missing' | 'invalid' | 'expired' | 'revoked';
      /** For the caller: never reveals which part of a token was wrong. */
      readonly message: string;
    };

/** Authenticates the caller. It never throws: what cannot be checked is not valid. */
export type Authenticator = (presented: Presented) => Promise<Authenticated>;

/** The longest value of an Authorization header that is read. Large issuers' tokens have about 4,000 characters. */
export const MAX_AUTHORIZATION_BYTES = 8_192;

/** RFC 6750: the scheme in any case, one space, and a text that needs no quotes. */
const BEARER = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i;

/** Reads the token of an Authorization header; anything but one bearer token is null. It repairs nothing and never throws. */
export function readBearer(raw: string): string | null {
  // Boundary: what is too long is not even read.
  if (raw.length > MAX_AUTHORIZATION_BYTES) return null;
  // Boundary: two credentials that a proxy joined by a comma, or one with white space around it, are not a credential.
  return BEARER.exec(raw)?.[1] ?? null;
}
