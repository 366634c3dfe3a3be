import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Server, Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Caller } from '../../core/caller.ts';
import { makeId } from '../../core/clock.ts';
import { Lines } from '../../core/lines.ts';
import type { StrictLimits } from '../../core/strict-json.ts';
import { type Door, ownerOf } from './door.ts';
import {
  errorOf,
  INVALID_REQUEST,
  type JsonRpcError,
  type MessageId,
  messageLimits,
  readMessage,
  SERVER_ERROR,
  tooLong,
} from './message.ts';
import { makeServer } from './server.ts';
import type { ToolLists } from './tool-lists.ts';

/** Requests of one connection that are open at once; calls have a limit of their own, of the operator's. */
const MOST_OPEN = 1_024;

export type Streams = {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** The id of the request that was answered before the streams were handed over; null where none was. */
  readonly answered?: MessageId | null;
};

/**
 * Serves one client over two streams, until the input ends or the signal fires. By then every call of it has ended and is
 * on record: those that were running are cancelled.
 */
export async function serveStreams(
  door: Door,
  streams: Streams,
  caller: Caller,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random } = door.gateway;
  const wire = new StdioWire(door, streams);
  const connection = makeId('mcp', clock.nowMs(), random);
  const closed = new Promise<void>((resolve) => {
    // The last server that the SDK makes is the one that stays; each leaves with its connection.
    const servers = new Set<() => void>();
    const handle = serveStdio(
      ({ era }) => {
        const server = makeServer(door, { caller, transport: 'stdio', era, connection });
        servers.add(announceTo(door, ownerOf(caller), server));
        return server;
      },
      {
        transport: wire,
        onerror: (error) => door.log('debug', 'mcp.stdio', { name: error.name }),
      },
    );
    const close = () => void handle.close();
    signal.addEventListener('abort', close, { once: true });
    const closedBySdk = wire.onclose;
    wire.onclose = () => {
      closedBySdk?.();
      signal.removeEventListener('abort', close);
      for (const leave of servers) leave();
      door.openCalls.end(connection);
      resolve();
    };
    if (signal.aborted) close();
  });
  await closed;
  await door.calls.settled();
}

/** Notifies a connection of changes for as long as it is open. */
export function announceTo({ changes, log }: Pick<Door, 'changes' | 'log'>, owner: string, server: Server) {
  const quietly = (sent: Promise<void>) =>
    void sent.catch((error: unknown) => log('debug', 'mcp.unannounced', { name: (error as Error).name }));
  return changes.subscribe(owner, {
    toolsChanged: () => quietly(server.sendToolListChanged()),
    resourcesChanged: () => quietly(server.sendResourceListChanged()),
  });
}

/**
 * Messages over two streams, one per line. What is not a message is answered as such and the connection stays open; a
 * client that sends more than it reads is not read from until it does. It ends when the input ends.
 */
class StdioWire implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #tools: ToolLists;
  readonly #streams: Streams;
  readonly #limits: StrictLimits;
  readonly #lines: Lines;
  /** Requests that were not answered yet: an id is unique among them, or a cancellation would be ambiguous. */
  readonly #open = new Set<MessageId>();
  #answered: MessageId | null;
  #drained: Promise<void> | null = null;
  #isClosed = false;

  constructor({ gateway, tools }: Door, streams: Streams) {
    const { input, http } = gateway.config;
    this.#tools = tools;
    this.#streams = streams;
    this.#answered = streams.answered ?? null;
    this.#limits = messageLimits(input, http.maxBodyBytes);
    this.#lines = new Lines(http.maxBodyBytes, {
      onLine: (line) => this.#take(line),
      onTooLong: () => this.#write(JSON.stringify(tooLong(http.maxBodyBytes))),
    });
  }

  async start(): Promise<void> {
    const { stdin, stdout } = this.#streams;
    stdin.on('data', this.#onData);
    stdin.once('end', this.#onEnd);
    stdin.once('close', this.#onEnd);
    stdin.once('error', this.#onEnd);
    // It stays: what cannot be written after the end has no reader.
    stdout.on('error', this.#onEnd);
    // Not now: the SDK is about to set what is called at the end.
    if (stdin.readableEnded || stdin.destroyed) setImmediate(this.#onEnd);
    // A reader before this one may have paused the stream, and then a listener alone gets nothing.
    else stdin.resume();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if ('id' in message && !('method' in message)) {
      this.#open.delete(message.id as MessageId);
      if (message.id === this.#answered) return this.#leaveOut(message);
    }
    return this.#write(this.#textOf(message));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { stdin } = this.#streams;
    stdin.off('data', this.#onData);
    stdin.off('end', this.#onEnd);
    stdin.off('close', this.#onEnd);
    stdin.pause();
    this.onclose?.();
  }

  readonly #onData = (chunk: Uint8Array): void => this.#lines.push(chunk);

  readonly #onEnd = (): void => {
    void this.close();
  };

  #take(line: Uint8Array): void {
    if (this.#isClosed) return;
    const read = readMessage(line, this.#limits);
    if (!read.ok) {
      void this.#write(JSON.stringify(read.problem));
      return;
    }
    const message = read.value;
    if ('method' in message && 'id' in message) {
      const error = this.#refusal(message.id);
      if (error !== null) {
        void this.#write(JSON.stringify(error));
        return;
      }
      this.#open.add(message.id);
    } else if ('method' in message && message.method === 'notifications/cancelled') {
      // What is cancelled is never answered.
      this.#open.delete(message.params?.requestId as MessageId);
    }
    this.onmessage?.(message);
  }

  #refusal(id: MessageId): JsonRpcError | null {
    if (this.#open.has(id)) return errorOf(id, INVALID_REQUEST, 'Invalid Request: this id is in use');
    // Boundary: a few bytes can request a megabyte; this many are answered at a time.
    return this.#open.size < MOST_OPEN
      ? null
      : errorOf(id, SERVER_ERROR, `Busy: ${MOST_OPEN} requests are open`);
  }

  /** The client has this answer already; should the SDK have refused the request, the client is not served. */
  async #leaveOut(message: JSONRPCMessage): Promise<void> {
    this.#answered = null;
    if (!('result' in message)) await this.close();
  }

  /** A page of tools is written from the cache; everything else is serialized now. */
  #textOf(message: JSONRPCMessage): string {
    const result = 'result' in message ? (message.result as { tools?: unknown }) : {};
    const { tools, ...rest } = result;
    const kept = typeof tools === 'object' && tools !== null ? this.#tools.textOf(tools) : undefined;
    if (kept === undefined) return JSON.stringify(message);
    const others = JSON.stringify(rest).slice(1);
    const { result: _, ...envelope } = message as { readonly result: unknown };
    const separator = others === '}' ? '' : ',';
    return `{"result":{"tools":${kept}${separator}${others},${JSON.stringify(envelope).slice(1)}`;
  }

  #write(text: string): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const { stdin, stdout } = this.#streams;
    if (stdout.write(`${text}\n`)) return Promise.resolve();
    if (this.#drained === null) {
      // Boundary: a client that sends requests and does not read would fill our memory with answers.
      stdin.pause();
      this.#drained = new Promise((resolve) => {
        stdout.once('drain', () => {
          this.#drained = null;
          if (!this.#isClosed) stdin.resume();
          resolve();
        });
      });
    }
    return this.#drained;
  }
}
