import type { Caller } from '../../core/caller.ts';
import type { Log } from '../../core/log.ts';
import type { Gateway, Opened } from '../../invoke/gateway.ts';
import type { ConcurrentCalls } from '../concurrent-calls.ts';
import type { Changes } from './changes.ts';
import type { OpenCalls } from './open-calls.ts';
import type { RequestStates } from './request-states.ts';
import type { ToolLists } from './tool-lists.ts';
import type { UpstreamOffers } from './upstream-offers.ts';

/** What all connections of the MCP door share. */
export type Door = {
  readonly gateway: Opened<Gateway>;
  readonly log: Log;
  readonly version: string;
  readonly tools: ToolLists;
  readonly states: RequestStates;
  readonly openCalls: OpenCalls;
  readonly changes: Changes;
  readonly calls: ConcurrentCalls;
  readonly offers: UpstreamOffers;
};

/** One client as a server sees it: a connection, a session, or a single request. */
export type Client = {
  readonly caller: Caller;
  readonly transport: 'stdio' | 'http';
  readonly era: 'legacy' | 'modern';
  /** What ends when the client leaves: its connection or session; null where each request is complete in itself. */
  readonly connection: string | null;
  /** Called for a request that was cancelled, since it gets no answer. */
  readonly onCancelled?: (requestId: string | number) => void;
};

/** The key of what is private to one principal of one tenant. */
export function ownerOf({ principal, tenant }: Caller): string {
  return `${tenant} ${principal.kind}:${principal.name}`;
}
