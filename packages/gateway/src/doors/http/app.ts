import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../../config/config.ts';
import type { Caller, Scope } from '../../core/caller.ts';
import { makeId } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Log } from '../../core/log.ts';
import type { StrictLimits } from '../../core/strict-json.ts';
import type { Authenticator } from '../../identity/authenticate.ts';
import { hasToken } from '../../identity/tokens.ts';
import type { RunningCall } from '../../invoke/invoke.ts';
import { requireScope } from '../../operations/access.ts';
import { type OpenedGateway, type Operation, OperationProblem, perform } from '../../operations/operation.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { ConcurrentCalls } from '../concurrent-calls.ts';
import {
  type Exchange,
  endBroken,
  sendAllowed,
  sendProblem,
  sendResponse,
  sendResult,
  sendText,
} from './answer.ts';
import {
  type IdentifyCaller,
  type Listener,
  limited,
  makeIdentifyCaller,
  makeOriginCheck,
  type OriginCheck,
  RateLimit,
} from './caller.ts';
import { LOCAL_OPERATIONS } from './local-operations.ts';
import { OpenRequests } from './open-requests.ts';
import {
  type HeaderFields,
  headersOf,
  type ProblemFacts,
  problemOf,
  problemOrThrow,
  RequestRefused,
} from './problem.ts';
import { MCP_METHODS, type McpFetch, makeMcpRequest, readInput, requirePlain, targetOf } from './request.ts';
import { type Found, makeRouter, type Router } from './router.ts';
import { MCP_PATH, METADATA_PATH, type Page, STATIC_PAGES, type StaticPageParts } from './static-pages.ts';

/*
 * The HTTP door. A request that Node has parsed is checked in this order: is it well-formed, is it for this host, is
 * its origin allowed, does its address exist, who sends it, is it within the rate limit, does the credential have the
 * scope, does the input fit the operation. Only then does the handler of the operation see it. Only the credential
 * identifies the caller. The door decides nothing about calls: that is up to the line.
 *
 * It works on Node's own requests and answers: a layer of web-platform objects between them costs more than all of this
 * work, and hides how a path or a header was spelled.
 */

export type HttpParts = Pick<StaticPageParts, 'url' | 'metrics' | 'openApi'> & {
  /** The pages of the documentation. */
  readonly docs: readonly Page[];
  readonly gateway: OpenedGateway;
  readonly operations: readonly Operation[];
  readonly authenticate: Authenticator;
  readonly log: Log;
  readonly mcp: McpFetch;
  /** Counts every request by its route, which is one of our paths and never the requested one. */
  readonly counts?: Pick<Metrics, 'request' | 'turnedAway'>;
  /** The address that the door listens on, as it was given. */
  readonly host: string;
};

/** One request that is being answered. */
type Handling = Exchange & {
  readonly listener: Listener;
  readonly signal: AbortSignal;
  readonly path: string;
};

/** The nesting of a request around the input of a call. */
const MORE_DEPTH = 4;
/** Operations that call tools: those that stop when the gateway drains. */
const CALLING: ReadonlySet<string> = new Set(['createCall', 'localCall']);
/** The door of a gateway; `handle` gets every request of the network and of the local socket. */
export class HttpApp {
  readonly requests = new OpenRequests();
  readonly #parts: HttpParts;
  readonly #routers: Readonly<Record<Listener, Router>>;
  readonly #pages: ReadonlyMap<string, Page>;
  readonly #checkOrigin: OriginCheck;
  readonly #callerOf: IdentifyCaller;
  readonly #rate: RateLimit;
  readonly #calls: ConcurrentCalls;
  readonly #limits: StrictLimits;
  #isDraining = false;

  constructor(parts: HttpParts) {
    const { operations, gateway, authenticate } = parts;
    const { http, input, gateway: own }: Config = gateway.config;
    this.#parts = parts;
    this.#pages = new Map([...STATIC_PAGES, ...parts.docs].map((page) => [page.path, page]));
    this.#routers = {
      network: makeRouter(operations),
      local: makeRouter([...operations, ...LOCAL_OPERATIONS]),
    };
    this.#checkOrigin = makeOriginCheck(http, parts);
    this.#callerOf = makeIdentifyCaller(authenticate, own.tenant);
    this.#rate = new RateLimit(http.ratePerMinute);
    this.#calls = new ConcurrentCalls(http.callsAtOnce);
    this.#limits = { maxBytes: http.maxBodyBytes, maxDepth: input.maxDepth + MORE_DEPTH };
  }

  /** True while calls are running or their answers are being sent. */
  get isBusy(): boolean {
    return !this.#calls.isIdle || this.#running().length > 0;
  }

  /** From now on no call is started. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Aborts everything that is still running, calls included. */
  stop(): void {
    const { running } = this.#parts.gateway;
    this.requests.stop();
    for (const { callId } of this.#running()) running.cancel(callId);
  }

  /** A session with an upstream server only waits for calls; it ends with the gateway, which does not wait for it. */
  #running(): readonly RunningCall[] {
    return this.#parts.gateway.running.list().filter(({ door }) => door !== 'upstream');
  }

  /** Answers one request to its end; never throws. */
  async handle(request: IncomingMessage, response: ServerResponse, listener: Listener): Promise<void> {
    const { clock, config } = this.#parts.gateway;
    const startedMs = clock.monotonicMs();
    const { signal, end } = this.requests.begin(request);
    const exchange = { request, response, fields: {} as HeaderFields };
    let status = 0;
    try {
      requirePlain(request);
      const { path, query } = targetOf(request);
      const { host, origin } = request.headers;
      exchange.fields = this.#checkOrigin({ host, origin }, request.socket.localAddress);
      status = await this.#answer({ ...exchange, listener, signal, path }, query);
    } catch (error) {
      status = await this.#refuse(exchange, error);
    } finally {
      end();
      if (config.log.level === 'debug') this.#note(request, status, clock.monotonicMs() - startedMs);
    }
  }

  async #answer(handling: Handling, query: string): Promise<number> {
    const { path, listener, request } = handling;
    const page = this.#pages.get(path);
    if (page !== undefined) return this.#answerPage(handling, page);
    if (path === MCP_PATH) return this.#answerMcp(handling);
    const found = this.#routers[listener](request.method ?? '', path);
    if (found === null) throw new RequestRefused('door/not-found', NOT_FOUND);
    if ('allowed' in found) return sendAllowed(handling, found.allowed);
    return this.#answerOperation(handling, found, query);
  }

  async #answerOperation(handling: Handling, found: Found, query: string): Promise<number> {
    const { name, scope } = found.binding.operation;
    const caller = await this.#admit(handling, scope);
    const run = () => this.#run(handling, found, query, caller);
    return CALLING.has(name) ? this.#asCall(caller, run) : run();
  }

  async #run(handling: Handling, found: Found, query: string, caller: Caller): Promise<number> {
    const { gateway } = this.#parts;
    const { operation } = found.binding;
    const input = await readInput(handling, { ...found, query }, this.#limits);
    const recheck = () => this.#recheck(handling, operation.scope);
    const context = { gateway, caller, door: 'http', signal: handling.signal, recheck } as const;
    const result = await perform(operation, context, input).catch(problemOrThrow);
    const status =
      result instanceof OperationProblem
        ? await sendProblem(handling, problemOf(result), headersOf(result))
        : await sendResult(handling, operation, result);
    return this.#count(operation.http.path, handling, status);
  }

  #count(route: string, { request }: Exchange, status: number): number {
    this.#parts.counts?.request(route, request.method ?? '', status);
    return status;
  }

  async #answerPage(handling: Handling, page: Page): Promise<number> {
    const { method } = handling.request;
    if (method !== 'GET' && method !== 'HEAD') return sendAllowed(handling, ['GET']);
    if (page.scope !== undefined) {
      const caller = await this.#admit(handling, page.scope);
      page.access?.({ gateway: this.#parts.gateway, caller });
    }
    const answer = await page.answer({ ...this.#parts, isDraining: () => this.#isDraining });
    return this.#count(page.route ?? page.path, handling, await sendText(handling, answer));
  }

  async #answerMcp(handling: Handling): Promise<number> {
    const { mcp, url } = this.#parts;
    const { method = '', url: target = '' } = handling.request;
    if (!MCP_METHODS.some((each) => each === method)) return sendAllowed(handling, MCP_METHODS);
    const caller = await this.#admit(handling, 'call', `${METADATA_PATH}${MCP_PATH}`);
    const terms = { url: `${url}${target}`, maxBytes: this.#limits.maxBytes, signal: handling.signal };
    // How many of its calls run at once is counted where they are distinguished from streams that only listen.
    if (method === 'POST') this.#requireServing();
    const answer = await mcp(await makeMcpRequest(handling, terms), caller);
    return this.#count(MCP_PATH, handling, await sendResponse(handling, answer));
  }

  /** The caller, if permitted: known, within the rate limit, and with a credential that has the scope. */
  async #admit(handling: Handling, scope: Scope | null, metadata = METADATA_PATH): Promise<Caller> {
    const { url, gateway } = this.#parts;
    const { request, listener } = handling;
    const caller = await this.#callerOf(request, listener, `${url}${metadata}`);
    this.#rate.enter(caller.credential, gateway.clock.monotonicMs());
    // Boundary: no body is read for a credential that lacks the scope.
    requireScope(caller, scope);
    return caller;
  }

  /** Checks the credential of the request again: it may have been revoked or have expired since. */
  async #recheck({ request, listener }: Handling, scope: Scope | null): Promise<void> {
    requireScope(await this.#callerOf(request, listener, `${this.#parts.url}${METADATA_PATH}`), scope);
  }

  #requireServing(): void {
    if (!this.#isDraining) return;
    const headers = { 'retry-after': '1', connection: 'close' };
    throw new RequestRefused('door/draining', 'Cannot take the call: the gateway is about to stop', headers);
  }

  async #asCall(caller: Caller, run: () => Promise<number>): Promise<number> {
    this.#requireServing();
    const { credential } = caller;
    if (this.#calls.isFull(credential)) throw limited('as many calls of it as may be are running', 1);
    return this.#calls.track(credential, run());
  }

  /** The error as a problem document; an internal fault is logged as an incident and not detailed in the answer. */
  async #refuse(exchange: Exchange, error: unknown): Promise<number> {
    const facts = error instanceof CodedError ? problemOf(error) : this.#fault(error);
    this.#parts.counts?.turnedAway(facts.code);
    if (exchange.response.headersSent) {
      endBroken(exchange.response, facts);
      return exchange.response.statusCode;
    }
    return sendProblem(exchange, facts, headersOf(error));
  }

  #fault(error: unknown): ProblemFacts {
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
    // Boundary: a caller may put its token into a URL by mistake.
    const shown = hasToken(url) ? '(has a token in it)' : url;
    const rounded = Math.round(ms * 1000) / 1000;
    this.#parts.log('debug', 'http-request', { method, url: shown, status, ms: rounded });
  }
}

const NOT_FOUND = 'Cannot find that address: it does not exist';
