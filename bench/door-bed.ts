import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readEnvironment } from '../packages/gateway/src/config/environment.ts';
import { ALL_SCOPES } from '../packages/gateway/src/core/caller.ts';
import { mintToken } from '../packages/gateway/src/invoke/tokens.ts';
import { openGateway } from '../packages/gateway/src/open.ts';
import { BED_CONFIG } from './bed.ts';

/* What the bench of doors talks to: the shipped programs, each in a process of its own, and clients that cost little. */

const BIN = join(process.cwd(), 'packages/gateway/bin/palisade.js');
const HOUR_MS = 3_600_000;

/** A server that does nothing but answer: what HTTP itself costs here. */
const BARE_SERVER = `
const body = Buffer.from('x'.repeat(1500));
const server = require('node:http').createServer((request, response) => {
  request.on('data', () => undefined);
  request.on('end', () => response.writeHead(200, { 'content-length': body.length }).end(body));
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
`;

export type Served = { readonly port: number; readonly token: string; readonly child: ChildProcess };

/** A state directory in which an agent has a token, and budgets that no bench uses up. */
export async function doorState(scratch: string): Promise<{ state: string; token: string }> {
  const state = mkdtempSync(join(scratch, 'door-'));
  writeFileSync(join(state, 'palisade.toml'), `${BED_CONFIG}\n[log]\nlevel = "error"\n`, { mode: 0o600 });
  const gateway = await openGateway({ stateDir: state, env: readEnvironment({}), version: '0.0.0' });
  try {
    const by = { kind: 'user', name: 'bench' } as const;
    const { token } = await mintToken(gateway, by, {
      ...{ principal: { kind: 'agent', name: 'ada' }, tenant: 'default', scopes: ['call'] },
      ...{ expiresAtMs: gateway.clock.nowMs() + HOUR_MS, label: '', held: new Set(ALL_SCOPES) },
    });
    return { state, token };
  } finally {
    await gateway.close();
  }
}

/** `palisade serve` as it is shipped, on a port of its own. */
export async function serveState(state: string, token: string): Promise<Served> {
  const child = spawn(
    process.execPath,
    [BIN, 'serve', '--state', state, '--listen', '127.0.0.1:0', '--json'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return { port: await portOf(child), token, child };
}

export async function serveBare(): Promise<Served> {
  const child = spawn(process.execPath, ['-e', BARE_SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  return { port: await portOf(child), token: '', child };
}

async function portOf({ stdout }: ChildProcess): Promise<number> {
  if (stdout === null) throw new Error('Cannot bench doors: a server has no output');
  let text = '';
  for await (const chunk of stdout) {
    text += chunk;
    const found = /"port": ?([0-9]+)/.exec(text);
    if (found?.[1] !== undefined) return Number(found[1]);
  }
  throw new Error(`Cannot bench doors: a server ended and said "${text}"`);
}

export async function endServed({ child }: Pick<Served, 'child'>): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

/** One connection that is kept, with one request at a time; it reads no more of an answer than it has to. */
export class Line {
  readonly #socket: Socket;
  #buffer: Buffer = Buffer.alloc(0);
  #done: ((status: number) => void) | null = null;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk) => this.#take(chunk));
  }

  post(path: string, token: string, body: string): Promise<number> {
    const head = [
      `POST ${path} HTTP/1.1`,
      'host: 127.0.0.1',
      `authorization: Bearer ${token}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    this.#socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    return new Promise((resolve) => {
      this.#done = resolve;
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    const end = this.#buffer.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#buffer.toString('latin1', 0, end);
    const length = Number(/^content-length: *([0-9]+)/im.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error(`Cannot bench doors: an answer has no length\n${head}`);
    if (this.#buffer.length < end + 4 + length) return;
    this.#buffer = this.#buffer.subarray(end + 4 + length);
    const done = this.#done;
    this.#done = null;
    done?.(Number(head.slice(9, 12)));
  }
}

/** `palisade mcp` as it is shipped, with a session of the older era open. */
export class StdioDoor {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (message: string) => void>();
  #id = 0;

  constructor(state: string) {
    this.#child = spawn(process.execPath, [BIN, 'mcp', '--state', state, '--as', 'agent:ada'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (this.#child.stdout === null) throw new Error('Cannot bench doors: palisade mcp has no output');
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const id = Number(/"id":([0-9]+)/.exec(line)?.[1]);
      this.#waiting.get(id)?.(line);
      this.#waiting.delete(id);
    });
  }

  async open(): Promise<void> {
    const clientInfo = { name: 'bench', version: '1' };
    await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    this.#write({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  ask(method: string, params: object): Promise<string> {
    this.#id += 1;
    const id = this.#id;
    this.#write({ jsonrpc: '2.0', id, method, params });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin?.end();
    await ended;
  }

  #write(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
  }
}
