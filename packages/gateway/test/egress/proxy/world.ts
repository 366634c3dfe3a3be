/** A proxy, its clients, its targets and its name server, all on loopback. Everything ends with the test. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { AllowList } from '../../../src/egress/allowlist.ts';
import type { ProxyLimits } from '../../../src/egress/limits.ts';
import { openProxy, type ProxyOptions } from '../../../src/egress/proxy/proxy.ts';
import type { Lookup, Own } from '../../../src/egress/resolve.ts';
import { hostOf, listOf } from '../sample.ts';

export const TOKEN = 'a-token-of-this-run-alone';
export const CREDENTIAL = basic(`run:${TOKEN}`);
export const AUTHORIZED = `Proxy-Authorization: ${CREDENTIAL}`;

export const NAME = 'allowed.test';
export const HELLO = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';

export function basic(text: string): string {
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

type WorldTerms = {
  readonly entries?: readonly string[];
  /** By name; what is missing is not found, and a function is asked each time. */
  readonly answers?: Readonly<Record<string, readonly string[] | (() => Promise<readonly string[]>)>>;
  readonly limits?: Partial<ProxyLimits>;
  readonly own?: Partial<Own>;
  readonly token?: string;
  readonly options?: Partial<ProxyOptions>;
};

export async function startProxy(terms: WorldTerms) {
  const { entries = [], answers = {}, limits = {}, own = {}, token, options } = terms;
  const asked: string[] = [];
  const state: { list: AllowList } = { list: listOf(...entries) };
  const lookup: Lookup = async (name) => {
    asked.push(name);
    const answer = answers[name] ?? [];
    return typeof answer === 'function' ? answer() : answer;
  };
  const proxy = openProxy({
    list: () => state.list,
    resolve: { lookup, own: { addresses: [], ports: new Set(), ...own }, lookupMs: 5_000 },
    credential: token ?? TOKEN,
    limits,
    clock: { nowMs: () => 1_000, monotonicMs: () => 0 },
    ...options,
  });
  const server = createServer();
  proxy.listen(server);
  const port = await listenOn(server);
  onTestFinished(() => proxy.close());
  const setList = (...entriesNow: string[]) => {
    state.list = listOf(...entriesNow);
  };
  const decisions = () => proxy.facts().decisions;
  return { port, proxy, asked, decisions, setList, server, openDoor: newDoors(proxy) };
}

/** Opens doors, and gives the port of each. */
function newDoors(proxy: ReturnType<typeof openProxy>) {
  return async (host: string, port: number, isHttp: boolean): Promise<number> => {
    const server = createServer();
    proxy.listen(server, { host: hostOf(host), port, isHttp });
    return listenOn(server);
  };
}

/** Entries that allow a name and the loopback address it is found at. */
export function allowing(name: string, port: number): string[] {
  return [`${name}:${port}`, `127.0.0.1:${port}`];
}

/** A server that does what it is told with each connection, and keeps what it was sent. */
export async function startTarget(serve: (socket: Socket, received: () => string) => void) {
  const seen: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const index = seen.push('') - 1;
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      seen[index] += piece.toString('latin1');
    });
    serve(socket, () => seen[index] ?? '');
  });
  const port = await listenOn(server);
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port, seen, sockets };
}

/** A server that answers as soon as a head is there, with these bytes, and ends. */
export function startAnswering(answer: string) {
  return startTarget((socket, received) => {
    socket.on('data', () => {
      if (received().includes('\r\n\r\n')) socket.end(Buffer.from(answer, 'latin1'));
    });
  });
}

/** A target that says hello, and a proxy for whom it is the allowed name. */
export async function startBoth(...entries: string[]) {
  const target = await startAnswering(HELLO);
  const proxy = await startProxy({
    entries: [...allowing(NAME, target.port), ...entries],
    answers: { [NAME]: ['127.0.0.1'], 'other.test': ['127.0.0.1'] },
  });
  const get = (host: string) => talk(proxy.port, plainHead('GET', `http://${host}:${target.port}/`));
  return { ...proxy, target, get };
}

export function statusOf({ text }: { readonly text: string }): number {
  return Number(text.slice(9, 12));
}

/** A server that sends back what it gets. */
export function startEcho() {
  return startTarget((socket) => socket.pipe(socket));
}

/** A real HTTP server. */
export async function startHttp(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createHttpServer(handle);
  const port = await listenOn(server);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port, server };
}

export function listenOn(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/** What a client was sent, and how the connection ended for it. */
export type Talk = {
  readonly text: string;
  readonly head: string;
  readonly body: string;
  readonly end: string;
};

/** Sends bytes to a port, says that this is all, and waits until the other side is done. */
export function talkAll(port: number, text: string): Promise<Talk> {
  const client = openClient(port);
  client.socket.end(Buffer.from(text, 'latin1'));
  return client.ended;
}

/** Sends bytes to a port and waits until the other side is done. */
export function talk(port: number, ...pieces: (string | Buffer)[]): Promise<Talk> {
  const client = openClient(port);
  for (const piece of pieces)
    client.socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
  return client.ended;
}

export function openClient(port: number) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  let end = '';
  const waiting: { readonly part: string; readonly found: () => void }[] = [];
  const look = () => {
    for (const { part, found } of waiting) if (text.includes(part)) found();
  };
  socket.on('data', (piece) => {
    text += piece.toString('latin1');
    look();
  });
  const ended = new Promise<Talk>((resolve) => {
    socket.on('error', (error) => {
      end = 'code' in error ? String(error.code) : 'error';
    });
    socket.on('end', () => {
      end = 'end';
      socket.end();
    });
    socket.on('close', () => {
      const at = text.indexOf('\r\n\r\n');
      resolve({ text, head: text.slice(0, at), body: text.slice(at + 4), end });
    });
  });
  onTestFinished(() => void socket.destroy());
  /** Waits until this was received. */
  const until = (part: string) =>
    new Promise<void>((found) => {
      waiting.push({ part, found });
      look();
    });
  return { socket, ended, until };
}

/** A client with an open tunnel. */
export async function openTunnel(port: number, target: string) {
  const client = openClient(port);
  client.socket.write(connectHead(target));
  await client.until('\r\n\r\n');
  return client;
}

export function connectHead(target: string, ...headers: string[]): string {
  return [`CONNECT ${target} HTTP/1.1`, `Host: ${target}`, AUTHORIZED, ...headers, '', ''].join('\r\n');
}

/** The head of a plain request, with a Host that fits. */
export function plainHead(method: string, url: string, ...headers: string[]): string {
  const host = /^http:\/\/([^/?]*)/.exec(url)?.[1] ?? '';
  return [`${method} ${url} HTTP/1.1`, `Host: ${host}`, AUTHORIZED, ...headers, '', ''].join('\r\n');
}

/** Waits for something that comes about by itself. */
export async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}
