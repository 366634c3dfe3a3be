import type { Caller } from '../../core/caller.ts';
import type { Log } from '../../core/log.ts';
import type { Gateway, Opened } from '../../invoke/gateway.ts';
import type { Calls } from './calls.ts';
import type { Changes } from './changes.ts';
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
  readonly changes: Changes;
  readonly calls: Calls;
  readonly offers: UpstreamOffers;
};

/** One client as a server sees it: a connection, a session, or a single request. */
export type Client = {
  readonly caller: Caller;
  readonly transport: 'stdio' | 'http';
  readonly era: 'legacy' | 'modern';
  /** The run that its calls belong to where they name none; null where nothing ties them together. */
  readonly run: string | null;
  /** Is told of a request that was cancelled, since nobody will answer it. */
  readonly onCancelled?: (requestId: string | number) => void;
};

/** The key of what only one principal of one tenant may know. */
export function ownerOf({ principal, tenant }: Caller): string {
  return `${tenant} ${principal.kind}:${principal.name}`;
}
