import type { Caller } from '../../core/caller.ts';
import { ConcurrentCalls } from '../concurrent-calls.ts';
import { Changes } from './changes.ts';
import type { Door } from './door.ts';
import { HttpMcp } from './http.ts';
import { OpenCalls } from './open-calls.ts';
import { RequestStates } from './request-states.ts';
import { type Streams, serveStreams } from './stdio.ts';
import { ToolLists } from './tool-lists.ts';
import { UpstreamOffers } from './upstream-offers.ts';

/*
 * The door for MCP clients, over stdio and over HTTP, in both eras of the protocol. The input is untrusted text of a
 * client that an agent drives; the credential has identified it before. The SDK handles messages, revisions, headers
 * and streams; behind each method is a function of ours, and behind every `tools/call` the line. A result names its
 * call, whose receipt the caller can read. Outgoing text has no control characters. This door decides nothing: it never
 * permits, approves only in the name of the person who was asked, and never runs.
 */

type McpOptions = Pick<Door, 'gateway' | 'log' | 'version'>;

export type Mcp = {
  /** Answers one HTTP request of a caller whose credential was checked. */
  readonly fetch: (request: Request, caller: Caller) => Promise<Response>;
  /** Serves one client over two streams until the input ends or the signal fires; then all its calls are on record. */
  readonly serveStdio: (streams: Streams, caller: Caller, signal: AbortSignal) => Promise<void>;
  /** Ends all that is open, and waits until every call is on record. */
  readonly close: () => Promise<void>;
};

/** Opens the door; nothing listens until it is handed a request or streams. */
export function makeMcp({ gateway, log, version }: McpOptions): Mcp {
  const door: Door = {
    gateway,
    log,
    version,
    tools: new ToolLists(gateway),
    offers: new UpstreamOffers(gateway),
    states: new RequestStates(gateway.clock, gateway.random),
    openCalls: new OpenCalls(),
    changes: new Changes(gateway, log),
    calls: new ConcurrentCalls(gateway.config.http.callsAtOnce),
  };
  const http = new HttpMcp(door);
  const closing = new AbortController();
  const serving = new Set<Promise<void>>();
  return {
    fetch: (request, caller) => http.fetch(request, caller),
    serveStdio: async (streams, caller, signal) => {
      const served = serveStreams(door, streams, caller, AbortSignal.any([signal, closing.signal]));
      serving.add(served);
      await served.finally(() => serving.delete(served));
    },
    close: async () => {
      closing.abort(new Error('the gateway stops'));
      door.openCalls.end();
      await http.close();
      await Promise.allSettled(serving);
      await door.calls.settled();
      door.changes.close();
    },
  };
}
