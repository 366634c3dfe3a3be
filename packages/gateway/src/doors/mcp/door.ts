import type { Caller } from '../../core/caller.ts';
import type { Log } from '../../core/log.ts';
import type { Gateway, Opened } from '../../invoke/gateway.ts';
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
  /** The run of its calls when they name none; null when nothing groups them. */
  readonly run: string | null;
  /** Called for a request that was cancelled, since it gets no answer. */
  readonly onCancelled?: (requestId: string | number) => void;
};

/** The key of what is private to one principal of one tenant. */
export function ownerOf({ principal, tenant }: Caller): string {
  return `${tenant} ${principal.kind}:${principal.name}`;
}

/** The calls that came in by MCP and have not ended, so that a door that closes can wait until all are recorded. */
export class Calls {
  readonly #open = new Map<string, Set<Promise<unknown>>>();
  readonly #most: number;

  /** `most` is how many calls of one credential may run at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether this credential has as many calls running as it may. */
  isFull(credential: string): boolean {
    return (this.#open.get(credential)?.size ?? 0) >= this.#most;
  }

  /** Counts a call until it has ended. */
  async track<T>(credential: string, call: Promise<T>): Promise<T> {
    const open = this.#open.get(credential) ?? new Set();
    this.#open.set(credential, open);
    open.add(call);
    try {
      return await call;
    } finally {
      open.delete(call);
      if (open.size === 0) this.#open.delete(credential);
    }
  }

  /** Resolves once every call that runs at this moment has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].flatMap((open) => [...open]));
  }
}
