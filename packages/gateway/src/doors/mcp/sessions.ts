import { type Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import type { Caller } from '../../core/caller.ts';
import { makeId } from '../../core/clock.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { type Client, type Door, ownerOf } from './door.ts';
import { refusal } from './message.ts';
import { makeServer } from './server.ts';
import { announceTo } from './stdio.ts';

/*
 * Clients of the legacy era over HTTP. Their session is a server of ours that lives from `initialize` to DELETE, or
 * until it has been idle for a while. The id of a session is not a credential: each request brings its own, and must
 * come from the principal that opened the session.
 */

type Session = {
  readonly id: string;
  readonly caller: Caller;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: Server;
  readonly leave: () => void;
  usedAtMs: number;
  /** Responses that are being read. */
  open: number;
};

const ID_BYTES = 32;
const MOST_SESSIONS = 1_000;
const MOST_OF_ONE = 100;
const IDLE_MS = 30 * 60_000;
const SWEEP_EVERY_MS = 60_000;

export class Sessions {
  readonly #door: Door;
  readonly #sessions = new Map<string, Session>();
  #sweeping: NodeJS.Timeout | null = null;

  constructor(door: Door) {
    this.#door = door;
  }

  /** Answers one request of the legacy era. */
  async fetch(request: Request, caller: Caller, body: Json | undefined): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) {
      if (!isJsonObject(body) || body.method !== 'initialize')
        return refusal(400, 'Bad Request: Mcp-Session-Id header is required');
      return this.#open(request, caller, body);
    }
    const session = this.#sessions.get(id);
    // Boundary: a session id of another caller is answered like an unknown id.
    if (session === undefined || !isSameCaller(session.caller, caller))
      return refusal(404, 'Session not found');
    session.usedAtMs = this.#nowMs();
    return this.#answer(session, request, body);
  }

  async close(): Promise<void> {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
    this.#sweeping = null;
    await Promise.all([...this.#sessions.values()].map((session) => this.#end(session)));
  }

  async #open(request: Request, caller: Caller, body: Json | undefined): Promise<Response> {
    const owner = ownerOf(caller);
    if (!this.#makeRoom(owner)) return refusal(429, 'Too many sessions are open');
    const { clock, random } = this.#door.gateway;
    const id = Buffer.from(random.bytes(ID_BYTES)).toString('base64url');
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const connection = makeId('mcp', clock.nowMs(), random);
    // The SDK keeps the response open for a request that it will not answer.
    const onCancelled = (requestId: string | number) => transport.closeSSEStream(requestId);
    const client: Client = { caller, transport: 'http', era: 'legacy', connection, onCancelled };
    const server = makeServer(this.#door, client);
    const leave = announceTo(this.#door, owner, server);
    const session = { id, caller, transport, server, leave, usedAtMs: this.#nowMs(), open: 0 };
    await server.connect(transport);
    server.onclose = () => void this.#end(session);
    this.#sessions.set(id, session);
    this.#sweeping ??= this.#sweep();
    return this.#answer(session, request, body);
  }

  async #answer(session: Session, request: Request, body: Json | undefined): Promise<Response> {
    const { transport } = session;
    const response = await transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
    if (response.body === null) return response;
    session.open++;
    const read = watched(response.body, () => {
      session.open--;
    });
    return new Response(read, response);
  }

  /** Ends a session: what runs in it is cancelled and recorded. */
  async #end(session: Session): Promise<void> {
    if (!this.#sessions.delete(session.id)) return;
    session.leave();
    await session.server.close();
  }

  /** At the limit, the session that was idle longest is closed; false when none is idle. */
  #makeRoom(owner: string): boolean {
    const all = [...this.#sessions.values()];
    const own = all.filter((each) => ownerOf(each.caller) === owner);
    if (all.length < MOST_SESSIONS && own.length < MOST_OF_ONE) return true;
    const pool = own.length >= MOST_OF_ONE ? own : all;
    const [longest] = pool.filter(({ open }) => open === 0).sort((a, b) => a.usedAtMs - b.usedAtMs);
    if (longest !== undefined) void this.#end(longest);
    return longest !== undefined;
  }

  #sweep(): NodeJS.Timeout {
    const timer = setInterval(() => {
      const before = this.#nowMs() - IDLE_MS;
      for (const session of this.#sessions.values())
        if (session.open === 0 && session.usedAtMs < before) void this.#end(session);
    }, SWEEP_EVERY_MS);
    timer.unref();
    return timer;
  }

  #nowMs(): number {
    return this.#door.gateway.clock.monotonicMs();
  }
}

function isSameCaller(one: Caller, other: Caller): boolean {
  return ownerOf(one) === ownerOf(other) && one.credential === other.credential;
}

/** The same bytes, with a callback at their end, however it comes. */
function watched(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      onEnd();
    },
    cancel(reason) {
      onEnd();
      return reader.cancel(reason);
    },
  });
}
