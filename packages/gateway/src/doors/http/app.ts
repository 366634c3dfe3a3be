import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../../config/config.ts';
import type { Caller, Scope } from '../../core/caller.ts';
import { makeId } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Log } from '../../core/log.ts';
import type { StrictLimits } from '../../core/strict-json.ts';
import type { Authenticator } from '../../identity/authenticator.ts';
import { hasToken } from '../../identity/token-text.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import type { RunningCall } from '../../invoke/invoke.ts';
import type { Opened } from '../../open.ts';
import { readAsked } from './asked.ts';
import { makeWhoAsks, type Place, requireScope, type WhoAsks } from './caller.ts';
import { requirePlain, targetOf } from './incoming.ts';
import { AtOnce, RateLimit } from './limits.ts';
import { LOCAL_ROUTES } from './local-routes.ts';
import { MCP_METHODS, type McpFetch, makeMcpRequest } from './mcp-request.ts';
import { makeOriginCheck, type OriginCheck } from './origin.ts';
import { type HeaderLines, type Told, TurnedAway } from './problem.ts';
import { endBroken, send, sendProblem, sendResponse, type Way } from './reply.ts';
import type { Reply, Route } from './route.ts';
import { type Found, makeRouter, type Router } from './router.ts';
import { MCP_PATH, METADATA_PATH, makeStanding, type Standing, type StandingParts } from './standing.ts';
import { Works } from './works.ts';

/*
 * The HTTP door. A request comes in as Node has read it and is judged in this order: is it well-formed, is it for us, does
 * its page have a say, is there such an address, who asks, is it too often, is the credential good for it, is it what the
 * row takes. Only then the handler of the row sees it. Nothing of what a request says is believed about who sends it but
 * its credential. The door decides nothing about calls: that is for the line.
 *
 * It works on Node's own requests and answers: a layer of web-platform objects between them costs more than all that is
 * done here, and hides how a path or a header was spelt.
 */

export type HttpParts = Pick<StandingParts, 'url' | 'metrics' | 'pages'> & {
  readonly gateway: Opened<Gateway>;
  readonly routes: readonly Route[];
  readonly authenticate: Authenticator;
  readonly log: Log;
  readonly mcp: McpFetch;
  /** Is told of every request, for metrics. */
  readonly counts?: Counts;
  /** The address that the door listens on, as it was given. */
  readonly host: string;
};

export type Counts = {
  /** The route is one of ours, never what was asked for. */
  readonly request: (route: string, method: string, status: number) => void;
  readonly turnedAway: (code: string) => void;
};

/** One request on its way. */
type Exchange = Way & { readonly place: Place; readonly signal: AbortSignal; readonly path: string };

/** Room for what stands around the input of a call. */
const MORE_DEPTH = 4;
/** Rows by which tools are called: those that stop when the gateway drains. */
const CALLING: ReadonlySet<string> = new Set(['POST /v1/calls', 'POST /local/calls']);
const PREFLIGHT: HeaderLines = [
  'access-control-allow-headers',
  'authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, traceparent',
  'access-control-max-age',
  '600',
];

export class HttpApp {
  readonly works = new Works();
  readonly #parts: HttpParts;
  readonly #routers: Readonly<Record<Place, Router>>;
  readonly #standing: ReadonlyMap<string, Standing>;
  readonly #origins: OriginCheck;
  readonly #whoAsks: WhoAsks;
  readonly #rate: RateLimit;
  readonly #calls: AtOnce;
  readonly #limits: StrictLimits;
  readonly #calling: ReadonlySet<Route>;
  #isDraining = false;

  constructor(parts: HttpParts) {
    const { routes, gateway, authenticate } = parts;
    const { http, input, gateway: own }: Config = gateway.config;
    this.#parts = parts;
    this.#routers = { network: makeRouter(routes), local: makeRouter([...routes, ...LOCAL_ROUTES]) };
    this.#standing = makeStanding({ ...parts, isDraining: () => this.#isDraining });
    this.#origins = makeOriginCheck(http, parts);
    this.#whoAsks = makeWhoAsks(authenticate, own.tenant);
    this.#rate = new RateLimit(http.ratePerMinute);
    this.#calls = new AtOnce(http.callsAtOnce);
    this.#calling = new Set(
      [...routes, ...LOCAL_ROUTES].filter(({ method, path }) => CALLING.has(`${method} ${path}`)),
    );
    this.#limits = { maxBytes: http.maxBodyBytes, maxDepth: input.maxDepth + MORE_DEPTH };
  }

  /** True while calls are running or their answers are on the way. */
  get isBusy(): boolean {
    return this.#calls.total > 0 || this.#running().length > 0;
  }

  /** From now on no call begins. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Tells everything that still goes on to end, calls included. */
  stop(): void {
    const { running } = this.#parts.gateway;
    this.works.stop();
    for (const { callId } of this.#running()) running.cancel(callId);
  }

  /** A session with an upstream server only waits for calls; it ends with the gateway, and nobody waits for it. */
  #running(): readonly RunningCall[] {
    return this.#parts.gateway.running.list().filter(({ door }) => door !== 'upstream');
  }

  /** Answers one request to its end; never throws. */
  async handle(request: IncomingMessage, response: ServerResponse, place: Place): Promise<void> {
    const { clock, config } = this.#parts.gateway;
    const startedMs = clock.monotonicMs();
    const { signal, end } = this.works.begin(request);
    const way = { request, response, lines: [] as HeaderLines };
    let status = 0;
    try {
      requirePlain(request);
      const { path, query } = targetOf(request);
      const { host, origin } = request.headers;
      way.lines = this.#origins.check({ host, origin }, request.socket.localAddress);
      status = await this.#answer({ ...way, place, signal, path }, query);
    } catch (error) {
      status = await this.#tell(way, error);
    } finally {
      end();
      if (config.log.level === 'debug') this.#note(request, status, clock.monotonicMs() - startedMs);
    }
  }

  async #answer(exchange: Exchange, query: string): Promise<number> {
    const { path, place, request } = exchange;
    const { method = '' } = request;
    const standing = this.#standing.get(path);
    if (standing !== undefined) return this.#answerStanding(exchange, standing);
    if (path === MCP_PATH) return this.#answerMcp(exchange);
    const found = this.#routers[place].find(method, path);
    if (found === null) throw new TurnedAway('door/not-found', 'Cannot find that address: there is none');
    if ('allowed' in found) return otherMethod(exchange, found.allowed);
    return this.#answerRoute(exchange, found, query);
  }

  async #answerRoute(exchange: Exchange, found: Found, query: string): Promise<number> {
    const { route } = found;
    const caller = await this.#admit(exchange, route.scope, METADATA_PATH);
    const act = () => this.#run(exchange, found, query, caller);
    return this.#calling.has(route) ? this.#asCall(caller, act) : act();
  }

  async #run(exchange: Exchange, found: Found, query: string, caller: Caller): Promise<number> {
    const { gateway, log } = this.#parts;
    const read = await readAsked(exchange, { ...found, query }, this.#limits);
    const reply: Reply = await found.route.handle({
      ...read,
      gateway,
      caller,
      signal: exchange.signal,
      recheck: () => this.#recheck(exchange, found.route.scope),
      log,
    });
    return this.#count(found.route.path, exchange, await send(exchange, reply));
  }

  #count(route: string, { request }: Way, status: number): number {
    this.#parts.counts?.request(route, request.method ?? '', status);
    return status;
  }

  async #answerStanding(exchange: Exchange, { scope, reply }: Standing): Promise<number> {
    const { method } = exchange.request;
    if (method !== 'GET' && method !== 'HEAD') return otherMethod(exchange, ['GET']);
    if (scope !== 'anybody') await this.#admit(exchange, scope, METADATA_PATH);
    return this.#count(exchange.path, exchange, await send(exchange, await reply()));
  }

  async #answerMcp(exchange: Exchange): Promise<number> {
    const { mcp, url } = this.#parts;
    const { method = '', url: target = '' } = exchange.request;
    if (!MCP_METHODS.some((each) => each === method)) return otherMethod(exchange, MCP_METHODS);
    const caller = await this.#admit(exchange, 'call', `${METADATA_PATH}${MCP_PATH}`);
    const terms = { url: `${url}${target}`, maxBytes: this.#limits.maxBytes, signal: exchange.signal };
    // How many of its calls run at once is counted where they are told from streams that only listen.
    if (method === 'POST') this.#requireServing();
    const answer = await mcp(await makeMcpRequest(exchange, terms), caller);
    return this.#count(MCP_PATH, exchange, await sendResponse(exchange, answer));
  }

  /** Who asks, if they may: known, not too often, and with a credential that is good for it. */
  async #admit({ request, place }: Exchange, scope: Scope | null, metadata: string): Promise<Caller> {
    const { url, gateway } = this.#parts;
    const caller = await this.#whoAsks(request, place, `${url}${metadata}`);
    this.#rate.enter(caller.credential, gateway.clock.monotonicMs());
    requireScope(caller, scope);
    return caller;
  }

  /** Looks again at what the request brought: it may have been revoked or have ended since. */
  async #recheck({ request, place }: Exchange, scope: Scope | null): Promise<void> {
    requireScope(await this.#whoAsks(request, place, `${this.#parts.url}${METADATA_PATH}`), scope);
  }

  #requireServing(): void {
    if (!this.#isDraining) return;
    throw new TurnedAway('door/draining', 'Cannot take the call: the gateway is about to stop', {
      headers: ['retry-after', '1', 'connection', 'close'],
    });
  }

  async #asCall(caller: Caller, act: () => Promise<number>): Promise<number> {
    this.#requireServing();
    this.#calls.enter(caller.credential);
    try {
      return await act();
    } finally {
      this.#calls.leave(caller.credential);
    }
  }

  /** What went wrong, as a problem; what is our own fault leaves an incident in the log and no word of it in the answer. */
  async #tell(way: Way, error: unknown): Promise<number> {
    const told = error instanceof CodedError ? toldOf(error) : this.#fault(error);
    this.#parts.counts?.turnedAway(told.code);
    const headers = error instanceof TurnedAway ? error.headers : [];
    if (way.response.headersSent) {
      endBroken(way.response, told);
      return way.response.statusCode;
    }
    return sendProblem(way, told, headers);
  }

  #fault(error: unknown): Told {
    const { gateway, log } = this.#parts;
    const incident = makeId('inc', gateway.clock.nowMs(), gateway.random);
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log('error', 'http-fault', { incident, stack });
    return {
      code: 'gateway/fault',
      detail: `Cannot answer: the gateway broke, incident ${incident}`,
      remedy: 'Give the incident id to the operator; it is in the log of the gateway.',
    };
  }

  #note({ method = '', url = '' }: IncomingMessage, status: number, ms: number): void {
    // Boundary: what somebody puts into an address by mistake may be their token.
    const shown = hasToken(url) ? '(has a token in it)' : url;
    this.#parts.log('debug', 'http-request', {
      method,
      url: shown,
      status,
      ms: Math.round(ms * 1000) / 1000,
    });
  }
}

function toldOf({ code, message, remedy }: CodedError): Told {
  return { code, detail: message, remedy };
}

/** The address takes other methods: which ones is what OPTIONS asks, and what anything else should have known. */
function otherMethod(exchange: Exchange, allowed: readonly string[]): Promise<number> {
  const { lines, request } = exchange;
  const methods = (allowed.includes('GET') ? ['HEAD', ...allowed] : [...allowed]).sort().join(', ');
  if (request.method !== 'OPTIONS') {
    const detail = `Cannot ${request.method}: the address does not take it, expected ${methods}`;
    return sendProblem(exchange, { code: 'door/method-not-allowed', detail }, ['allow', methods]);
  }
  const cors = lines.length === 0 ? [] : [...PREFLIGHT, 'access-control-allow-methods', methods];
  return send(exchange, {
    ...{ kind: 'text', status: 200, type: 'text/plain; charset=utf-8', text: '' },
    headers: ['allow', methods, ...cors],
  });
}

/** Makes the door of a gateway; `handle` is given every request of the network and of the local socket. */
export function makeHttpApp(parts: HttpParts): HttpApp {
  return new HttpApp(parts);
}
