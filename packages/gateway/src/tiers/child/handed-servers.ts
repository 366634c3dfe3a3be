import { Server } from 'node:net';

/**
 * The listening sockets of one run, which the starter hands over one after the other. They are made in the network of
 * the run; whoever has them here accepts what connects there. Nothing is accepted before the run begins.
 */
export class HandedServers {
  /** All of them in their order, once they are there; null when it ended before. */
  readonly all: Promise<readonly Server[] | null>;
  readonly #servers: (Server | null)[];
  #settle: (servers: readonly Server[] | null) => void = () => undefined;
  #isClosed = false;

  constructor(count: number) {
    this.#servers = Array.from({ length: count }, () => null);
    this.all = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#settleWhenComplete();
  }

  /** Takes one over, or closes it where it does not belong. */
  take(index: number, server: Server): void {
    // Between runs a listener must not keep the gateway from ending.
    server.unref();
    // Boundary: a number that was not asked for, or twice, is nobody's listener.
    if (this.#isClosed || this.#servers[index] !== null) {
      server.close();
      return;
    }
    this.#servers[index] = server;
    this.#settleWhenComplete();
  }

  /** The run is over: nothing is accepted any more. */
  close(): void {
    this.#isClosed = true;
    for (const server of this.#servers) server?.close();
    this.#settle(null);
  }

  #settleWhenComplete(): void {
    const there = this.#servers.filter((server) => server !== null);
    if (there.length === this.#servers.length) this.#settle(there);
  }
}

/** A message of the starter with the listener that it speaks of; null where it is none. */
export function handedServer(
  message: unknown,
  handle: unknown,
): { readonly run: number; readonly index: number; readonly server: Server } | null {
  if (!(handle instanceof Server) || typeof message !== 'object' || message === null) return null;
  const { run, index } = message as { readonly run?: unknown; readonly index?: unknown };
  if (!Number.isSafeInteger(run) || !Number.isSafeInteger(index)) return null;
  return { run: run as number, index: index as number, server: handle };
}
