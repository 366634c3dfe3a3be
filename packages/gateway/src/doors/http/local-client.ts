import { type IncomingMessage, request } from 'node:http';
import { formatPrincipal, type Principal } from '../../core/principal.ts';
import { AS_HEADER } from './caller.ts';
import { readEvents } from './read-events.ts';
import type { ServerEvent } from './route.ts';

/*
 * The client of the local socket: how a command has the daemon of its state directory make a call. A daemon begins to
 * answer before it begins the call; so where no answer begins, no call came of it, and the command can still make it
 * itself.
 */

export type LocalCall = {
  readonly tool: string;
  readonly rawInput: string | Uint8Array;
  readonly run: string | null;
  readonly timeoutMs: number | null;
};

export class LocalClient {
  readonly #path: string;
  readonly #as: string;

  constructor(socketPath: string, as: Principal) {
    this.#path = socketPath;
    this.#as = formatPrincipal(as);
  }

  /**
   * Begins a call; what it prints and how it ends comes as events. Null: no call came of it, because nobody serves there,
   * it was turned away, or the signal fired before.
   */
  async call(
    { tool, rawInput, run, timeoutMs }: LocalCall,
    signal: AbortSignal,
  ): Promise<AsyncIterable<ServerEvent> | null> {
    const query = new URLSearchParams({ tool });
    if (run !== null) query.set('run', run);
    if (timeoutMs !== null) query.set('timeoutMs', String(timeoutMs));
    const response = await this.#send(`/local/calls?${query}`, Buffer.from(rawInput), signal);
    if (response === null) return null;
    if (response.statusCode === 200) return readEvents(response);
    response.destroy();
    return null;
  }

  /** Cancels a call that it began; one that has ended stays as it is. */
  async cancel(callId: string): Promise<void> {
    const path = `/local/calls/${encodeURIComponent(callId)}/cancel`;
    const response = await this.#send(path, Buffer.alloc(0), new AbortController().signal);
    response?.resume();
  }

  /** Null when no answer begins. */
  #send(path: string, body: Buffer, signal: AbortSignal): Promise<IncomingMessage | null> {
    return new Promise((resolve) => {
      const sent = request({
        ...{ socketPath: this.#path, method: 'POST', path, agent: false },
        headers: {
          host: 'localhost',
          [AS_HEADER]: this.#as,
          ...(body.length === 0 ? {} : { 'content-type': 'application/octet-stream' }),
          'content-length': body.length,
        },
      });
      // Once it is on its way the call may have begun: then its answer says which call is to be cancelled.
      const giveUp = () => void (sent.socket?.connecting === false || sent.destroy());
      if (signal.aborted) giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      sent.once('response', (response) => {
        signal.removeEventListener('abort', giveUp);
        resolve(response);
      });
      // A refused connection gives an error; one that was given up may only close.
      sent.on('error', () => resolve(null)).once('close', () => resolve(null));
      sent.end(body);
    });
  }
}
