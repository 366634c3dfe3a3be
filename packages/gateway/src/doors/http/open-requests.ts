import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** One request that is being answered. */
type OpenRequest = { readonly signal: AbortSignal; readonly end: () => void };

type Entry = { readonly request: IncomingMessage; readonly abort: AbortController };

/** The requests that are being answered, by their connection; each can be aborted. */
export class OpenRequests {
  readonly #bySocket = new WeakMap<Socket, Set<Entry>>();
  readonly #all = new Set<Entry>();

  get size(): number {
    return this.#all.size;
  }

  /** Whether an earlier request on this connection still waits for its answer. */
  isAnswering(socket: Socket): boolean {
    return [...(this.#bySocket.get(socket) ?? [])].some(({ request }) => request.complete);
  }

  begin(request: IncomingMessage): OpenRequest {
    const entry: Entry = { request, abort: new AbortController() };
    const open = this.#bySocket.get(request.socket) ?? this.#watch(request.socket);
    open.add(entry);
    this.#all.add(entry);
    const end = () => {
      open.delete(entry);
      this.#all.delete(entry);
    };
    return { signal: entry.abort.signal, end };
  }

  /** When a connection closes, the requests that came by it are aborted. */
  #watch(socket: Socket): Set<Entry> {
    const open = new Set<Entry>();
    this.#bySocket.set(socket, open);
    socket.once('close', () => {
      for (const { abort } of open) abort.abort(new Error('the client is gone'));
    });
    return open;
  }

  /** Aborts all of them. */
  stop(): void {
    for (const { abort } of this.#all) abort.abort(new Error('the gateway stops'));
  }
}
