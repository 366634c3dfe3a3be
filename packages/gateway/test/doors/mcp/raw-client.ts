import { PassThrough } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import type { Caller } from '../../../src/core/caller.ts';
import type { Json } from '../../../src/core/json.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import { type Mcp, makeMcp } from '../../../src/doors/mcp/index.ts';
import { ADA, GRACE, type TestGateway } from '../../fixture/gateway.ts';

/** MCP as bytes on two streams, without any library: what is written is what the gateway reads. */

// biome-ignore lint/suspicious/noExplicitAny: messages are whatever the far side wrote; the tests say what they expect.
export type Message = any;

export const MODERN = '2026-07-28';

/** An agent with a person behind it. */
export const CALLER: Caller = {
  principal: ADA,
  tenant: 'default',
  scopes: new Set(['call']),
  credential: 'process',
  approver: GRACE,
};

/** The door of a gateway; closed with the test, before the gateway. */
export function openMcp(gateway: TestGateway): Mcp {
  const mcp = makeMcp({ gateway, log: NO_LOG, version: '0.0.0' });
  onTestFinished(() => mcp.close());
  return mcp;
}

/** Waits until it is so: long enough for a machine that has much else to do. */
export function eventually<T>(read: () => T) {
  return expect.poll(read, { timeout: 60_000, interval: 10 });
}

/** What each request of the modern era carries. */
export function envelope(capabilities: Json = {}): Record<string, Json> {
  return {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  };
}

export class RawClient {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly lines: string[] = [];
  readonly served: Promise<void>;
  readonly #seen: Message[] = [];
  readonly #waiting = new Set<{ is: (message: Message) => boolean; resolve: (message: Message) => void }>();
  #text = '';
  #nextId = 1_000;

  constructor(mcp: Mcp, caller: Caller = CALLER, signal: AbortSignal = new AbortController().signal) {
    this.stdout.on('data', (chunk: Buffer) => this.#read(chunk.toString()));
    this.served = mcp.serveStdio({ stdin: this.stdin, stdout: this.stdout }, caller, signal);
  }

  /** Every message that came so far. */
  get messages(): readonly Message[] {
    return this.#seen;
  }

  write(text: string): void {
    this.stdin.write(text);
  }

  send(message: Json): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  notify(method: string, params: Json = {}): void {
    this.send({ jsonrpc: '2.0', method, params });
  }

  /** Sends a request; gives its id. */
  ask(method: string, params: Json = {}): number {
    const id = this.#nextId++;
    this.send({ jsonrpc: '2.0', id, method, params });
    return id;
  }

  /** The answer to a request. */
  request(method: string, params: Json = {}): Promise<Message> {
    const id = this.ask(method, params);
    return this.next((message) => message.id === id && message.method === undefined);
  }

  /** The same in the modern era. */
  modern(method: string, params: Record<string, Json> = {}, capabilities: Json = {}): Promise<Message> {
    const { _meta = {}, ...rest } = params;
    return this.request(method, {
      ...rest,
      _meta: { ...envelope(capabilities), ...(_meta as Record<string, Json>) },
    });
  }

  async initialize(capabilities: Json = {}, protocolVersion = '2025-11-25'): Promise<Message> {
    const clientInfo = { name: 'raw', version: '1' };
    const answer = await this.request('initialize', { protocolVersion, capabilities, clientInfo });
    this.notify('notifications/initialized');
    return answer;
  }

  /** The first message of that kind, past or to come. */
  next(is: (message: Message) => boolean): Promise<Message> {
    const found = this.#seen.find(is);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve) => this.#waiting.add({ is, resolve }));
  }

  #read(text: string): void {
    const parts = (this.#text + text).split('\n');
    this.#text = parts.pop() ?? '';
    for (const line of parts) {
      this.lines.push(line);
      const message: Message = JSON.parse(line);
      this.#seen.push(message);
      for (const each of this.#waiting) {
        if (!each.is(message)) continue;
        this.#waiting.delete(each);
        each.resolve(message);
      }
    }
  }
}
