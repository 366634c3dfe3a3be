import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import type { StrictLimits } from '../../core/strict-json.ts';
import { Lines } from './lines.ts';
import { errorOf, type JsonRpcError, type MessageId, readMessage, tooLong } from './message.ts';

export type WireOptions = {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly limits: StrictLimits;
  /** Requests that may be open at once. */
  readonly maxOpen: number;
  /** The text of a part of a message that is kept ready; undefined for any other. */
  readonly textOf: (part: object) => string | undefined;
};

const INVALID_REQUEST = -32_600;
const BUSY = -32_000;

/**
 * Messages over two streams, one on each line. What is no message is answered as such and the connection goes on; a client
 * that sends more than it reads is not read from until it does. It ends when the input ends.
 */
export class StdioWire implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #options: WireOptions;
  readonly #lines: Lines;
  /** Requests that were not answered yet: an id names one at a time, or a cancellation could mean either. */
  readonly #open = new Set<MessageId>();
  #drained: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: WireOptions) {
    this.#options = options;
    const { limits } = options;
    this.#lines = new Lines(limits.maxBytes, {
      onLine: (line) => this.#take(line),
      onTooLong: () => this.#write(JSON.stringify(tooLong(limits.maxBytes))),
    });
  }

  async start(): Promise<void> {
    const { stdin, stdout } = this.#options;
    stdin.on('data', this.#onData);
    stdin.once('end', this.#onEnd);
    stdin.once('close', this.#onEnd);
    stdin.once('error', this.#onEnd);
    // It stays: what cannot be written after the end is nobody's loss.
    stdout.on('error', this.#onEnd);
    if (stdin.readableEnded || stdin.destroyed) this.#onEnd();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if ('id' in message && !('method' in message)) this.#open.delete(message.id as MessageId);
    return this.#write(this.#textOf(message));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { stdin } = this.#options;
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
    const read = readMessage(line, this.#options.limits);
    if (!read.ok) {
      void this.#write(JSON.stringify(read.error));
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
    // Boundary: a few bytes can ask for a megabyte; so many are answered at a time.
    const { maxOpen } = this.#options;
    return this.#open.size < maxOpen ? null : errorOf(id, BUSY, `Busy: ${maxOpen} requests are open`);
  }

  /** A page of tools is written as it was kept; everything else is made into text now. */
  #textOf(message: JSONRPCMessage): string {
    const result = 'result' in message ? (message.result as { tools?: unknown }) : {};
    const { tools, ...rest } = result;
    const kept = typeof tools === 'object' && tools !== null ? this.#options.textOf(tools) : undefined;
    if (kept === undefined) return JSON.stringify(message);
    const others = JSON.stringify(rest).slice(1);
    const { result: _, ...envelope } = message as { readonly result: unknown };
    const separator = others === '}' ? '' : ',';
    return `{"result":{"tools":${kept}${separator}${others},${JSON.stringify(envelope).slice(1)}`;
  }

  #write(text: string): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const { stdin, stdout } = this.#options;
    if (stdout.write(`${text}\n`)) return Promise.resolve();
    if (this.#drained === null) {
      // Boundary: a client that asks and does not read would fill our memory with answers.
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
