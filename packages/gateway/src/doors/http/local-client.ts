import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { eventsOf } from '@palisade/sdk';
import type { CallSource, ToolCall } from '../../core/call.ts';
import type { Json } from '../../core/json.ts';
import { formatPrincipal, type Principal } from '../../core/principal.ts';
import type { ServerEvent } from '../../operations/operation.ts';

/*
 * The client of the local socket: how a command has the daemon of its state directory make a call. A daemon begins to
 * answer before it begins the call; so if no answer begins, no call was made, and the command can still make it itself.
 */

/** The header by which a process of the owner names the principal that it acts as. */
export const AS_HEADER = 'palisade-as';
/** The headers by which it names the device and the channel of that principal. */
export const DEVICE_HEADER = 'palisade-device';
export const CHANNEL_HEADER = 'palisade-channel';

/** Where an MCP client of `palisade mcp` is handed to the daemon, and what its connection becomes. */
export const LOCAL_MCP = { path: '/local/mcp', protocol: 'palisade-mcp' } as const;

const SOCKET_NAME = 'palisade.sock';
/** The longest path of a local socket, on every system. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The path of the local socket of a state directory; null where its path is too long for one. */
export function socketIn(stateDir: string): string | null {
  const path = join(stateDir, SOCKET_NAME);
  return Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES ? null : path;
}

type Place = Pick<CallSource, 'device' | 'channel'>;

/** What a process of the owner says about the caller that it acts as. */
export function identityHeaders(as: Principal, { device, channel }: Place): Readonly<Record<string, string>> {
  return {
    [AS_HEADER]: formatPrincipal(as),
    ...(device === undefined ? {} : { [DEVICE_HEADER]: device }),
    ...(channel === undefined ? {} : { [CHANNEL_HEADER]: channel }),
  };
}

/** Not a host: looking whether one is an address takes Node as long as to load this client. */
const LOCAL: object = { servername: '' };

type LocalCall = Pick<ToolCall, 'tool' | 'rawInput' | 'run' | 'timeoutMs'>;

export class LocalClient {
  readonly #path: string;
  readonly #who: Readonly<Record<string, string>>;

  constructor(socketPath: string, as: Principal, place: Place = {}) {
    this.#path = socketPath;
    this.#who = identityHeaders(as, place);
  }

  /**
   * Starts a call; its output and its ending arrive as events. Null: no call was made, because no daemon serves there,
   * it was refused, or the signal fired first.
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
        ...LOCAL,
        socketPath: this.#path,
        method: 'POST',
        path,
        agent: false,
        headers: {
          host: 'localhost',
          ...this.#who,
          ...(body.length === 0 ? {} : { 'content-type': 'application/octet-stream' }),
          'content-length': body.length,
        },
      });
      // Once the request is sent the call may have started: then its answer names the call to cancel.
      const giveUp = () => void (sent.socket?.connecting === false || sent.destroy());
      if (signal.aborted) giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      sent.once('response', (response) => {
        signal.removeEventListener('abort', giveUp);
        resolve(response);
      });
      // A refused connection gives an error; an aborted one may only close.
      sent.on('error', () => resolve(null)).once('close', () => resolve(null));
      sent.end(body);
    });
  }
}

/** The events of a stream as this door writes them, one after the other; comments only keep it alive. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  for await (const { event, id, data } of eventsOf(chunks))
    yield { event, id, data: JSON.parse(data) as Json };
}
