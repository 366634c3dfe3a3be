import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import {
  DEFAULT_PORTS,
  formatAuthority,
  formatHost,
  formatOrigin,
  formatSite,
  type HttpUrl,
  isSameOrigin,
  type Scheme,
} from '../egress/authority.ts';
import type { FetchTerms, HeaderPair } from '../egress/fetch/outcome.ts';
import { resolveLocation } from '../egress/fetch/redirect.ts';
import { fetchNamed, isLoopback, type Network } from '../egress/named-host.ts';
import type { BoundSecret } from '../egress/secrets.ts';
import { readChallenges } from './challenge.ts';
import {
  type Answer,
  failed,
  notAnswered,
  refusedWith,
  retryAfterOf,
  type Task,
  valuesOf,
} from './errors.ts';
import { OCI_LIMITS } from './limits.ts';
import type { RegistryHost } from './reference.ts';
import { type Authorization, basicAuthorization, bearerAuthorization } from './token.ts';

/*
 * The requests of one command to one registry. The registry is not trusted with anything but its own log-in: that goes to
 * the registry, or to a host for tokens that is the registry itself or that the operator named, and nowhere else; the
 * value is filled in by egress on the way out, so that no header, redirect or error of this module ever contains it. A
 * redirect is decided on anew, carries nothing, and leads into a private network only where the operator named the host.
 * Requests that change something are never redirected. What comes back is bounded here and compared with its digest by
 * the callers.
 */

/** What the operator configured of a registry. */
export type RegistrySettings = {
  readonly scheme: Scheme | null;
  /** Authorities besides the registry itself that may get its log-in, and that its contents may come from. */
  readonly tokenHosts: readonly string[];
  readonly blobHosts: readonly string[];
  /** The name of the secret with its log-in. */
  readonly secret: string;
};

export type SessionTerms = Network &
  Pick<FetchTerms, 'onProgress'> & {
    readonly registry: RegistryHost;
    readonly settings: RegistrySettings;
    /** The log-in as USER:PASSWORD, asked for when the registry requires one; null: there is none. */
    readonly login: () => Promise<string | null>;
    readonly signal: AbortSignal;
    /** As in `Cannot pull "…"`. */
    readonly act: string;
  };

export type RegistryRequest = {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH';
  /** On the registry, or one of its own addresses. */
  readonly at: string | HttpUrl;
  readonly headers?: readonly HeaderPair[];
  readonly body?: Uint8Array;
  /** What a token has to permit. */
  readonly scope: string;
  readonly responseBytes?: number;
  /** It moves a package, which may take long. */
  readonly isTransfer?: boolean;
};

const EXPECTED = 'a host that the operator named, or a public address';

export class RegistrySession {
  readonly task: Task;
  readonly #terms: SessionTerms;
  readonly #scheme: Scheme;
  #authorization: Authorization | null = null;
  #isLoggedIn = false;
  #waits = 0;

  constructor(terms: SessionTerms) {
    const { registry, settings, act } = terms;
    this.#terms = terms;
    // Boundary: only what does not leave this machine, or what the operator configured, is sent without encryption.
    this.#scheme = settings.scheme ?? (isLoopback(registry.host) ? 'http' : 'https');
    this.task = { act, host: registry.text, secret: settings.secret };
  }

  /** Where the registry is. */
  url(path: string): HttpUrl {
    const { host, port } = this.#terms.registry;
    return { scheme: this.#scheme, host, port: port ?? DEFAULT_PORTS[this.#scheme], path };
  }

  /** Makes a request and gives the answer if its status is one of these; anything else is an error. */
  async request(request: RegistryRequest, accepted: readonly number[]): Promise<Answer> {
    let hasLoggedIn = false;
    for (;;) {
      const answer = await this.#travel(request);
      if (accepted.includes(answer.status)) return answer;
      if (answer.status === 401 && !hasLoggedIn) {
        hasLoggedIn = true;
        // A token that was good for an earlier request may have expired, so that it is asked for once more.
        if (await this.#authorize(answer, request.scope)) continue;
      }
      if (answer.status === 429 && (await this.#waited(answer))) continue;
      throw refusedWith(this.task, answer, this.#isLoggedIn);
    }
  }

  /** Reads where a registry sends the next request of an upload: never to another host. */
  locationOf(answer: Answer, base: HttpUrl): HttpUrl {
    const [location, second] = valuesOf(answer, 'location');
    if (location === undefined || second !== undefined)
      throw failed(this.task, 'Cannot go on: the answer has no Location or several, expected one');
    const url = resolveLocation(base, location);
    if (!url.ok) throw notAnswered(this.task, url.problem);
    // Boundary: a package and the log-in are sent to the registry that was named, and to no other host.
    if (isSameOrigin(url.value, base)) return url.value;
    const is = `it sends the upload to ${quote(formatOrigin(url.value))}`;
    throw new CodedError('oci/not-allowed', `Cannot ${this.task.act}: ${is}, expected ${formatOrigin(base)}`);
  }

  async #travel(request: RegistryRequest): Promise<Answer> {
    const isReading = request.method === 'GET' || request.method === 'HEAD';
    let url = typeof request.at === 'string' ? this.url(request.at) : request.at;
    for (let hops = 0; ; hops += 1) {
      const answer = await this.#send(url, request);
      const [location] = valuesOf(answer, 'location');
      const isRedirect = [301, 302, 303, 307, 308].includes(answer.status) && location !== undefined;
      if (!isRedirect || !isReading) return answer;
      // Boundary: a registry cannot redirect endlessly.
      if (hops >= OCI_LIMITS.redirects)
        throw failed(this.task, `It redirects more than ${OCI_LIMITS.redirects} times.`);
      const next = resolveLocation(url, location);
      if (!next.ok) throw notAnswered(this.task, next.problem);
      this.#requireReachable(next.value);
      url = next.value;
    }
  }

  async #send(url: HttpUrl, request: RegistryRequest): Promise<Answer> {
    const { method, headers = [], body = null, scope, responseBytes = OCI_LIMITS.noteBytes } = request;
    const { clock, lookup, trust, signal, onProgress } = this.#terms;
    const isOwn = isSameOrigin(url, this.url('/'));
    const permitted = isOwn && this.#authorization?.isFor(scope) === true ? this.#authorization : null;
    const wholeMs = request.isTransfer === true ? OCI_LIMITS.transferMs : OCI_LIMITS.requestMs;
    const outBytes = (body?.length ?? 0) + OCI_LIMITS.noteBytes;
    const outcome = await fetchNamed(
      url,
      isOwn || this.#isListed(url, 'blobHosts'),
      {
        ...{ method, body },
        headers: [
          // Boundary: a digest is of the bytes as they are; nothing is decompressed on the way.
          ['accept-encoding', 'identity'],
          // Another host gets nothing but the question.
          ...(isOwn ? headers : headers.filter(([name]) => name === 'accept')),
          ...(permitted === null ? [] : [permitted.header]),
        ],
      },
      {
        ...{ clock, signal, trust, lookupMs: OCI_LIMITS.lookupMs, expected: EXPECTED },
        ...(lookup === undefined ? {} : { lookup }),
        ...(onProgress === undefined ? {} : { onProgress }),
        secrets: permitted === null ? [] : [permitted.secret],
        limits: {
          ...{ requestBytes: outBytes, wireBytes: outBytes + responseBytes + OCI_LIMITS.noteBytes * 2 },
          ...{ responseBytes, wholeMs },
        },
      },
    );
    if (outcome.ok) return outcome;
    const failure = signal.aborted ? ({ code: 'cancelled', why: '' } as const) : outcome;
    throw notAnswered(isOwn ? this.task : { ...this.task, host: formatSite(url) }, failure);
  }

  /** Prepares what the challenges of an answer ask for; false when nothing more can be offered. */
  async #authorize(answer: Answer, scope: string): Promise<boolean> {
    const challenges = readChallenges(valuesOf(answer, 'www-authenticate'));
    const login = await this.#login();
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    const site = this.url('/');
    if (bearer === undefined) {
      const isBasic = challenges.some(({ scheme }) => scheme === 'basic');
      if (!isBasic || login === null) return false;
      this.#authorization = basicAuthorization(site, login);
    } else {
      this.#authorization = await bearerAuthorization(bearer, scope, {
        ...{ network: this.#terms, task: this.task, site, login },
        isTrusted: (realm) => isSameOrigin(realm, site) || this.#isListed(realm, 'tokenHosts'),
      });
    }
    this.#isLoggedIn = login !== null;
    return true;
  }

  async #login(): Promise<BoundSecret['value'] | null> {
    const login = await this.#terms.login();
    if (login === null) return null;
    // Boundary: the message does not repeat what may be a password.
    if (login.length <= OCI_LIMITS.loginChars && /^[^\p{Cc}:]+:[^\p{Cc}]+$/u.test(login)) return login;
    throw new CodedError(
      'oci/denied',
      `Cannot ${this.task.act}: the log-in is not of the form USER:PASSWORD`,
      {
        remedy: `Set it again with \`palisade secrets set ${this.task.secret}\`: the name of the user, a colon, and the password or token.`,
      },
    );
  }

  async #waited(answer: Answer): Promise<boolean> {
    const ms = retryAfterOf(answer, this.#terms.clock.nowMs());
    // Boundary: a registry does not decide how long a command lasts.
    if (ms === null || ms > OCI_LIMITS.waitMs || this.#waits >= OCI_LIMITS.waits) return false;
    this.#waits += 1;
    const { signal } = this.#terms;
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    return !signal.aborted;
  }

  #requireReachable(url: HttpUrl): void {
    const isNamed = isSameOrigin(url, this.url('/')) || this.#isListed(url, 'blobHosts');
    // Boundary: what was asked for under encryption is not fetched without it.
    if (url.scheme === 'https' || (isNamed && this.#scheme === 'http')) return;
    const target = quote(formatOrigin(url));
    const message = `Cannot ${this.task.act}: ${this.task.host} redirects to ${target}, which is not encrypted, expected https`;
    throw new CodedError('oci/not-allowed', message);
  }

  #isListed({ host, port }: HttpUrl, key: 'tokenHosts' | 'blobHosts'): boolean {
    const whole = formatAuthority(host, port);
    return this.#terms.settings[key].some((each) => each === whole || each === formatHost(host));
  }
}
