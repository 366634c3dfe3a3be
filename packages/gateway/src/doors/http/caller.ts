import type { IncomingMessage } from 'node:http';
import { ALL_SCOPES, type Caller, type Scope } from '../../core/caller.ts';
import { quote } from '../../core/hostile-text.ts';
import { parsePrincipal } from '../../core/principal.ts';
import type { Authenticator } from '../../identity/authenticate.ts';
import { AS_HEADER } from './local-client.ts';
import { RequestRefused } from './problem.ts';

/* Who sends a request, and how many requests the gateway accepts. */

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
    if (listener === 'local' && typeof as === 'string') return ofProcess(as, tenant, scopes);
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

function ofProcess(as: string, tenant: string, scopes: ReadonlySet<Scope>): Caller {
  const principal = parsePrincipal(as);
  if (principal === null)
    throw new RequestRefused(
      'door/wrong-usage',
      `Cannot act as ${quote(as)}: expected agent:NAME, user:NAME or service:NAME`,
    );
  return { principal, tenant, scopes, credential: 'process', approver: null };
}

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
