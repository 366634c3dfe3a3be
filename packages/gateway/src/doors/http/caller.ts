import type { IncomingMessage } from 'node:http';
import type { HttpConfig } from '../../config/config.ts';
import { ALL_SCOPES, type Caller, isChannelName, placeOf, type Scope } from '../../core/caller.ts';
import { quote } from '../../core/hostile-text.ts';
import { isName, parsePrincipal } from '../../core/principal.ts';
import type { Authenticator } from '../../identity/authenticate.ts';
import { AS_HEADER, CHANNEL_HEADER, DEVICE_HEADER } from './local-client.ts';
import { type HeaderFields, RequestRefused } from './problem.ts';

/* Which requests the gateway accepts: from whom, how many, and from which pages. */

/** How a request arrived: over the network, or by the socket that only the owner of the state directory can open. */
export type Listener = 'network' | 'local';

export type IdentifyCaller = (
  request: IncomingMessage,
  listener: Listener,
  metadataUrl: string,
) => Promise<Caller>;

/** Reads the caller from the credential alone, or refuses. */
export function makeIdentifyCaller(authenticate: Authenticator, tenant: string): IdentifyCaller {
  const scopes: ReadonlySet<Scope> = new Set(ALL_SCOPES);
  return async ({ headers }, listener, metadataUrl) => {
    const as = headers[AS_HEADER];
    // Boundary: this header counts only where the kernel says that the owner of this process sent it.
    if (listener === 'local' && typeof as === 'string') return ofProcess(headers, as, { tenant, scopes });
    refuseClaims(headers);
    const authorization = headers.authorization ?? null;
    const authenticated = await authenticate({ authorization });
    if (authenticated.ok) return authenticated.caller;
    const error = authorization === null ? '' : 'error="invalid_token", ';
    const challenge = `Bearer ${error}resource_metadata="${metadataUrl}"`;
    throw new RequestRefused('door/unauthenticated', authenticated.message, {
      'www-authenticate': challenge,
    });
  };
}

/** Boundary: a caller of the network that names its device or channel would be believed by no policy, and told so here. */
function refuseClaims(headers: IncomingMessage['headers']): void {
  for (const name of [DEVICE_HEADER, CHANNEL_HEADER, SESSION_HEADER]) {
    if (headers[name] === undefined) continue;
    throw new RequestRefused(
      'door/wrong-usage',
      `Cannot take the header "${name}": what it names comes from the credential, expected a request without it`,
    );
  }
}

/** Device and channel, as the process that opened the socket says; both are the word of its owner. */
export function placeIn(headers: IncomingMessage['headers']): ReturnType<typeof placeOf> | null {
  const { [DEVICE_HEADER]: device, [CHANNEL_HEADER]: channel } = headers;
  if (device !== undefined && (typeof device !== 'string' || !isName(device))) return null;
  if (channel !== undefined && (typeof channel !== 'string' || !isChannelName(channel))) return null;
  return placeOf({ device, channel });
}

type OfProcess = Pick<Caller, 'tenant' | 'scopes'>;

function ofProcess(headers: IncomingMessage['headers'], as: string, known: OfProcess): Caller {
  const place = placeIn(headers);
  if (place === null)
    throw new RequestRefused('door/wrong-usage', 'Cannot use the device or the channel: expected a name');
  const principal = parsePrincipal(as);
  if (principal === null)
    throw new RequestRefused(
      'door/wrong-usage',
      `Cannot act as ${quote(as)}: expected agent:NAME, user:NAME or service:NAME`,
    );
  return { ...known, principal, credential: 'process', approver: null, ...place };
}

/** There is none: a session is named as the run of a call. */
const SESSION_HEADER = 'palisade-session';

const MINUTE_MS = 60_000;
/** Above this, credentials that have been idle for a while are dropped. */
const MAX_REMEMBERED = 4096;

/**
 * Limits each credential to a number of requests per minute. It stores one number for each: the time until which its
 * requests so far use up its share; one that has used up the coming minute has to wait.
 */
export class RateLimit {
  readonly #stepMs: number;
  readonly #filledUntil = new Map<string, number>();

  constructor(perMinute: number) {
    this.#stepMs = MINUTE_MS / perMinute;
  }

  /** Throws when the limit is exceeded, with how long to wait. */
  enter(credential: string, nowMs: number): void {
    const until = Math.max(this.#filledUntil.get(credential) ?? 0, nowMs) + this.#stepMs;
    const overMs = until - nowMs - MINUTE_MS;
    // Boundary: one credential cannot take the time of all others.
    if (overMs > this.#stepMs / 2) throw limited('they come too often', Math.ceil(overMs / 1000));
    this.#filledUntil.set(credential, until);
    if (this.#filledUntil.size > MAX_REMEMBERED) this.#forget(nowMs);
  }

  #forget(nowMs: number): void {
    for (const [credential, until] of this.#filledUntil)
      if (until <= nowMs) this.#filledUntil.delete(credential);
  }
}

/** The refusal of one request too many, with how long to wait. */
export function limited(why: string, afterS: number): RequestRefused {
  const headers = { 'retry-after': String(Math.max(afterS, 1)) };
  return new RequestRefused(
    'door/rate-limited',
    `Cannot take more requests of this credential: ${why}`,
    headers,
  );
}

/*
 * Checks of Host and Origin. A hostile page can make a browser send requests to this machine, under any name that its
 * author points here (DNS rebinding). So the Host must be one of our names, and an Origin must be our own or one that
 * the operator named.
 */

/** The headers that say for which host a request is, and which page sent it. */
type OriginHeaders = { readonly host: string | undefined; readonly origin: string | undefined };

/** Throws if the request is not for us; returns the CORS headers that let the page read the answer. */
export type OriginCheck = (headers: OriginHeaders, localAddress: string | undefined) => HeaderFields;

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?$/;
const NONE: HeaderFields = {};

export function makeOriginCheck(http: HttpConfig, listening: { readonly host: string }): OriginCheck {
  const publicUrl = http.publicUrl === null ? null : new URL(http.publicUrl);
  const names = new Set([...LOOPBACK, bracketed(listening.host), ...http.allowedHosts.map(hostNameOf)]);
  if (publicUrl !== null) names.add(publicUrl.hostname);
  const origins = new Set(http.allowedOrigins.map((origin) => origin.toLowerCase()));
  return ({ host, origin }, localAddress) => {
    if (host === undefined) throw new RequestRefused('door/wrong-usage', NO_HOST);
    const name = hostNameOf(host);
    // Boundary: another name that resolves to this machine is not ours.
    if (!names.has(name) && !isOwnAddress(name, localAddress)) throw notForUs(host);
    if (origin === undefined) return NONE;
    // Boundary: a page speaks for its author, not for the user who looks at it.
    if (origins.has(origin)) return { 'access-control-allow-origin': origin, vary: 'origin' };
    if (isOwnPage(origin, host) || origin === publicUrl?.origin) return NONE;
    throw new RequestRefused(
      'door/forbidden-origin',
      `Cannot answer the page of ${quote(origin)}: it is not in http.allowed_origins, expected one that is`,
    );
  };
}

const NO_HOST = 'Cannot read the request: it has no header Host, expected one';

/** The name without its port, in lower case; empty where it is not a host, and so not a name of ours. */
function hostNameOf(host: string): string {
  return HOST.exec(host.toLowerCase())?.[1] ?? '';
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host.toLowerCase();
}

/** The address that the connection came to. Only this machine can have a page under it. */
function isOwnAddress(name: string, localAddress: string | undefined): boolean {
  if (localAddress === undefined || name === '') return false;
  return name === bracketed(localAddress.replace(/^::ffff:(?=[0-9.]+$)/, ''));
}

function isOwnPage(origin: string, host: string): boolean {
  return origin === `http://${host.toLowerCase()}`;
}

function notForUs(host: string): RequestRefused {
  return new RequestRefused(
    'door/forbidden-origin',
    `Cannot answer for the host ${quote(host)}: it is not a name of this gateway, expected one of http.allowed_hosts`,
  );
}
