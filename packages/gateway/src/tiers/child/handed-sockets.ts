import type { Socket } from 'node:net';

/** Asks the launcher of a run for a connection to a port of its plan; the answers come in the order of the requests. */
export type AskForSocket = (port: number) => void;

/** Requests under way at once: so many answers always fit into the socket over which they come. */
const MOST_AT_ONCE = 32;
/** The launcher answers at once, unless the machine is busy or it is about to end. */
const PATIENCE_MS = 10_000;

type Waiting = { readonly port: number; readonly settle: (socket: Socket | null) => void };

/**
 * Connections into the network of one run, which its launcher makes and the starter passes over. Each request gets a
 * socket, or null where nothing listens, the run is over, or no answer comes.
 */
export class HandedSockets {
  readonly #queue: Waiting[] = [];
  /** By the number of the request. */
  readonly #asked = new Map<number, Waiting['settle']>();
  #ask: AskForSocket | null = null;
  #count = 0;
  #isClosed = false;

  /** Begins to ask. */
  open(ask: AskForSocket): void {
    this.#ask = ask;
    this.#askNext();
  }

  connect(port: number): Promise<Socket | null> {
    if (this.#isClosed) return Promise.resolve(null);
    return new Promise((settle) => {
      this.#queue.push({ port, settle });
      this.#askNext();
    });
  }

  /** Accepts an answer, or closes a socket that no one waits for any more. */
  take(index: number, socket: Socket | null): void {
    const settle = this.#asked.get(index);
    if (settle === undefined) socket?.destroy();
    else settle(socket);
  }

  /** The run is over: what comes later is closed. */
  close(): void {
    this.#isClosed = true;
    for (const settle of [...this.#asked.values(), ...this.#queue.splice(0).map((each) => each.settle)])
      settle(null);
  }

  #askNext(): void {
    while (this.#ask !== null && this.#asked.size < MOST_AT_ONCE) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#await(this.#count, next);
      this.#count += 1;
      this.#ask(next.port);
    }
  }

  #await(index: number, { settle }: Waiting): void {
    const timer = setTimeout(() => this.take(index, null), PATIENCE_MS);
    timer.unref();
    this.#asked.set(index, (socket) => {
      clearTimeout(timer);
      this.#asked.delete(index);
      settle(socket);
      if (!this.#isClosed) this.#askNext();
    });
  }
}
