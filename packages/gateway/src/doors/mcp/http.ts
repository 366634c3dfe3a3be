import {
  type AuthInfo,
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  type McpHttpHandler,
  type McpServerFactory,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import type { Caller } from '../../core/caller.ts';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { type Door, ownerOf } from './door.ts';
import { errorOf, messageLimits, readBody, refusal } from './message.ts';
import { makeServer } from './server.ts';
import { Sessions } from './sessions.ts';

/*
 * MCP over HTTP, behind the checks of the HTTP door: host, origin and credential are checked. A request of the modern
 * era is complete in itself; closing its response cancels it. One of the legacy era belongs to a session.
 */

const HEADER_MISMATCH = -32_020;
const LISTEN = 'subscriptions/listen';
/** Streams of changes that one principal, and all of them, may have open. */
const MOST_LISTENING_OF_ONE = 32;
const MOST_LISTENING = 4_096;

const INSUFFICIENT_SCOPE = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="call"' };

export class HttpMcp {
  readonly #door: Door;
  readonly #sessions: Sessions;
  readonly #modern: McpHttpHandler;
  /** A handler for each stream of changes, so that each gets only what its caller may see. */
  readonly #listening = new Map<McpHttpHandler, string>();
  readonly #factory: McpServerFactory;

  constructor(door: Door) {
    this.#door = door;
    this.#sessions = new Sessions(door);
    this.#factory = ({ authInfo }) =>
      makeServer(door, { caller: callerIn(authInfo), transport: 'http', era: 'modern', connection: null });
    this.#modern = this.#makeHandler();
  }

  /** Answers one request. The caller is identified by the credential and nothing in the request. */
  async fetch(request: Request, caller: Caller): Promise<Response> {
    if (!caller.scopes.has('call'))
      return refusal(403, 'Forbidden: the credential has no scope "call"', INSUFFICIENT_SCOPE);
    const isPost = request.method === 'POST';
    if (isPost && !isJsonContentType(request.headers.get('content-type')))
      return refusal(415, 'Unsupported Media Type: Content-Type must be application/json');
    const { config } = this.#door.gateway;
    let body: Json | undefined;
    if (isPost) {
      const raw = new Uint8Array(await request.arrayBuffer());
      const read = readBody(raw, messageLimits(config.input, config.http.maxBodyBytes));
      if (!read.ok) return Response.json(read.problem, { status: 400 });
      body = read.value;
    }
    if (await isLegacyRequest(request, body))
      return mismatchOf(request.headers, body) ?? this.#sessions.fetch(request, caller, body);
    const handler = request.headers.get('mcp-method') === LISTEN ? this.#listenAs(caller) : this.#modern;
    if (handler === null) return refusal(429, 'Too many streams of changes are open');
    return handler.fetch(request, { parsedBody: body, authInfo: authOf(caller) });
  }

  /** Ends every session, stream and request; what runs is cancelled. */
  async close(): Promise<void> {
    const handlers = [this.#modern, ...this.#listening.keys()];
    await Promise.all([this.#sessions.close(), ...handlers.map((handler) => handler.close())]);
  }

  #listenAs(caller: Caller): McpHttpHandler | null {
    const owner = ownerOf(caller);
    const ofOne = [...this.#listening.values()].filter((each) => each === owner);
    // Boundary: an open stream costs memory for as long as its client keeps it.
    if (ofOne.length >= MOST_LISTENING_OF_ONE || this.#listening.size >= MOST_LISTENING) return null;
    const bus: ServerEventBus = {
      publish: () => undefined,
      subscribe: (listener) => {
        this.#listening.set(handler, owner);
        const leave = this.#door.changes.subscribe(owner, {
          toolsChanged: () => listener({ kind: 'tools_list_changed' }),
          resourcesChanged: () => listener({ kind: 'resources_list_changed' }),
        });
        return () => {
          this.#listening.delete(handler);
          leave();
        };
      },
    };
    const handler = this.#makeHandler(bus);
    return handler;
  }

  #makeHandler(bus?: ServerEventBus): McpHttpHandler {
    return createMcpHandler(this.#factory, {
      legacy: 'reject',
      onerror: (error) => this.#door.log('debug', 'mcp.http', { name: error.name }),
      ...(bus === undefined ? {} : { bus }),
    });
  }
}

/**
 * Boundary: a proxy may have judged the request by its headers. In the modern era the SDK checks them against the body;
 * if they come with a message of the legacy era, they are checked as well.
 */
function mismatchOf(headers: Headers, body: Json | undefined): Response | null {
  const { id, method, params }: Partial<JsonObject> = isJsonObject(body) ? body : {};
  const { name, uri }: Partial<JsonObject> = isJsonObject(params) ? params : {};
  const named = { method: headers.get('mcp-method'), name: headers.get('mcp-name') };
  const isSame =
    (named.method === null || named.method === method) &&
    (named.name === null || named.name === (name ?? uri));
  if (isSame) return null;
  const message = 'Bad Request: the request headers and body disagree';
  const whose = typeof id === 'string' || typeof id === 'number' ? id : null;
  return Response.json(errorOf(whose, HEADER_MISMATCH, message), { status: 400 });
}

/** Carries the caller through the SDK, which hands it on and reads nothing of it. */
function authOf(caller: Caller): AuthInfo {
  return { token: '', clientId: caller.credential, scopes: [...caller.scopes], extra: { caller } };
}

function callerIn(authInfo: AuthInfo | undefined): Caller {
  const caller = authInfo?.extra?.caller;
  if (caller === undefined) throw new TypeError('Cannot serve the request: it came without a caller');
  return caller as Caller;
}
