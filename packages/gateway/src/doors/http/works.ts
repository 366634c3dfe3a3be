import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** One request that is being answered. */
export type Work = { readonly signal: AbortSignal; readonly end: () => void };

type Entry = { readonly request: IncomingMessage; readonly abort: AbortController };

/** The requests that are being answered, by the connection that they came by; each can be told to end. */
export class Works {
  readonly #byWire = new WeakMap<Socket, Set<Entry>>();
  readonly #all = new Set<Entry>();

  get size(): number {
    return this.#all.size;
  }

  /** Tells whether a request that has come in by this connection waits for its answer. */
  isAnswering(wire: Socket): boolean {
    return [...(this.#byWire.get(wire) ?? [])].some(({ request }) => request.complete);
  }

  begin(request: IncomingMessage): Work {
    const work: Entry = { request, abort: new AbortController() };
    const works = this.#byWire.get(request.socket) ?? this.#watch(request.socket);
    works.add(work);
    this.#all.add(work);
    const end = () => {
      works.delete(work);
      this.#all.delete(work);
    };
    return { signal: work.abort.signal, end };
  }

  /** Looks after a connection: when it is gone, so are those who asked by it. */
  #watch(wire: Socket): Set<Entry> {
    const works = new Set<Entry>();
    this.#byWire.set(wire, works);
    wire.once('close', () => {
      for (const { abort } of works) abort.abort(new Error('the client is gone'));
    });
    return works;
  }

  /** Tells all of them to end. */
  stop(): void {
    for (const { abort } of this.#all) abort.abort(new Error('the gateway stops'));
  }
}
