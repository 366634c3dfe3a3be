import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { CODES, type Code } from '@palisade/sdk';
import type { HttpConfig } from '../../config/config.ts';
import { type CodedError, wrongUsage } from '../../core/coded-error.ts';
import type { HttpApp } from './app.ts';
import type { Listener } from './caller.ts';
import type { LocalSessions } from './local-sessions.ts';
import { problemDocument } from './problem.ts';

/*
 * The listeners of the door: one on an address, one on a socket in the state directory. Both are bound before the
 * gateway is opened, because a gateway keeps its runs away from its own port; requests until then are told to retry.
 * Node bounds the header block, the time a request takes to arrive, and the number of connections.
 */

type ListenOptions = {
  /** As `127.0.0.1:7433`; port 0 takes any that is free. Or the descriptor of a socket that listens already. */
  readonly listen: string | number;
  /** Where the local socket is; null: without one. */
  readonly socketPath: string | null;
  readonly http: Pick<HttpConfig, 'maxConnections' | 'requestTimeoutMs'>;
};

export type HttpDoor = {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Begins to answer; without sessions, no MCP client that a command hands over is served. */
  readonly serve: (app: HttpApp, sessions?: LocalSessions) => void;
  /** Lets running calls end for a while, then cancels them, and closes the listeners when all is recorded. */
  readonly close: (drainMs: number) => Promise<void>;
};

const MAX_HEADER_BYTES = 16 * 1024;
/** How long an idle connection may be used again. */
const KEEP_ALIVE_MS = 60_000;
const PEER_LOOK_MS = 30_000;
/** How often requests that take too long are looked for. */
const LOOK_MS = 1_000;
/** How often running calls are checked for while the gateway drains. */
const DRAIN_LOOK_MS = 10;
/** Calls that were cancelled end in far less; one that does not is left to be closed by the next process. */
const CANCELLED_MS = 10_000;
const LAST_EVENTS_MS = 50;
const FLUSH_MS = 500;
const BACKLOG = 1024;

/** Binds the listeners; an address that is not available is refused with a remedy. */
export async function openHttpDoor(options: ListenOptions): Promise<HttpDoor> {
  const { listen, socketPath, http } = options;
  // What came in through a socket of the manager of services waits for the start that it caused.
  const waiting = typeof listen === 'number' ? [] : null;
  const state: State & { sessions: LocalSessions | null } = { app: null, sessions: null, waiting };
  const network = makeServer(state, 'network', http);
  const local = makeServer(state, 'local', http);
  local.on('upgrade', (request, socket, head) => {
    if (state.sessions === null) socket.destroy();
    else void state.sessions.serve(request, socket, head);
  });
  const address = await bind(network, listen);
  try {
    if (socketPath !== null) await bindSocket(local, socketPath);
  } catch (error) {
    network.close();
    throw error;
  }
  const servers = socketPath === null ? [network] : [network, local];
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${host}:${address.port}`,
    host: address.address,
    port: address.port,
    serve: (app, sessions) => {
      state.app = app;
      state.sessions = sessions ?? null;
      for (const answer of state.waiting?.splice(0) ?? []) answer();
    },
    close: async (drainMs) => {
      state.sessions?.drain();
      await drain(state.app, drainMs);
      await state.sessions?.close();
      await Promise.all(servers.map(closeServer));
      if (socketPath !== null) rmSync(socketPath, { force: true });
    },
  };
}

type State = {
  app: HttpApp | null;
  /** The answers to requests that came before the gateway was open; null: those are told to retry. */
  readonly waiting: (() => void)[] | null;
};

function makeServer(state: State, listener: Listener, http: ListenOptions['http']): Server {
  const timeoutMs = http.requestTimeoutMs;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    // Boundary: a slow sender holds a connection for this long and no longer.
    requestTimeout: timeoutMs,
    headersTimeout: timeoutMs,
    connectionsCheckingInterval: Math.min(LOOK_MS, timeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The door itself reports what is wrong with a request without it.
    requireHostHeader: false,
    noDelay: true,
    // Detects a client whose machine is gone, so that its calls end.
    keepAlive: true,
    keepAliveInitialDelay: PEER_LOOK_MS,
  });
  server.maxConnections = http.maxConnections;
  // Their size is bounded; none may be dropped before the checks.
  server.maxHeadersCount = 0;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    // Boundary: a client that does not read its answer holds a connection no longer than a slow sender.
    response.once('prefinish', () => response.socket?.setTimeout(timeoutMs));
    // A request that was queued on the same connection has its turn now, and may take as long as it needs.
    response.once('socket', (socket: Socket) => void socket.setTimeout(0));
    if (state.app === null && state.waiting !== null) state.waiting.push(() => answer(request, response));
    else if (state.app === null) answerNotReady(response);
    else void state.app.handle(request, response, listener);
  };
  server.on('request', answer);
  server.on('checkContinue', answer);
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) =>
    refuseBytes(socket, error.code ?? '', state.app?.requests.isAnswering(socket) ?? false),
  );
  return server;
}

function answerNotReady(response: ServerResponse): void {
  const detail = 'Cannot answer: the gateway is about to start';
  const body = JSON.stringify(problemDocument({ code: 'door/draining', detail }));
  response.writeHead(503, {
    'content-type': 'application/problem+json',
    'retry-after': '1',
    connection: 'close',
  });
  response.end(body);
}

/** The answer to bytes that are not a request: [status line, code, cause]. */
const UNREADABLE: Readonly<Record<string, readonly [string, Code, string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'door/too-large',
    `its header is too large, expected at most ${MAX_HEADER_BYTES} bytes`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'door/timed-out', 'it did not come in in time'],
};

/** Boundary: after bytes that are not a request it is unknown where the next one begins, so the connection ends. */
function refuseBytes(socket: Socket, reason: string, isAnswering: boolean): void {
  // An earlier request of this connection waits for its answer; this one would be taken for it.
  if (!socket.writable || isAnswering) return void socket.destroy();
  const [line, code, why] = UNREADABLE[reason] ?? ['400 Bad Request', 'door/wrong-usage', 'it is not HTTP'];
  const { remedy } = CODES[code];
  const status = Number(line.slice(0, 3));
  const detail = `Cannot read the request: ${why}`;
  const body = JSON.stringify({ ...problemDocument({ code, detail, remedy }), status });
  const head = `HTTP/1.1 ${line}\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}

async function bind(server: Server, listen: string | number): Promise<AddressInfo> {
  if (typeof listen === 'number') return adopt(server, listen);
  const [, host = '', port = ''] = /^\[?([^\]]+?)\]?:([0-9]{1,5})$/.exec(listen) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw wrongUsage(`Cannot listen on "${listen}": expected ADDRESS:PORT`);
  await listening(server, { host, port: Number(port), backlog: BACKLOG }, listen);
  return server.address() as AddressInfo;
}

/** Serves a socket that the manager of services has opened; clients may wait in it already. */
async function adopt(server: Server, fd: number): Promise<AddressInfo> {
  await listening(server, { fd }, `descriptor ${fd}`);
  const address = server.address();
  if (typeof address === 'object' && address !== null) return address;
  server.close();
  throw wrongUsage(
    `Cannot serve the socket that was passed as descriptor ${fd}: it has no address and port, expected one of TCP`,
    'Write ListenStream=ADDRESS:PORT into the socket unit.',
  );
}

async function bindSocket(server: Server, path: string): Promise<void> {
  // The daemon lock is exclusive: an existing socket is that of a dead daemon.
  rmSync(path, { force: true });
  await listening(server, { path, backlog: BACKLOG }, path);
  // Boundary: a process that can open it acts for the owner.
  chmodSync(path, 0o600);
}

function listening(server: Server, where: object, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: Error & { code?: string }) => reject(cannotListen(name, error.code ?? '')));
    server.listen(where, () => {
      server.removeAllListeners('error');
      // A failed accept affects only its client.
      server.on('error', () => undefined);
      resolve();
    });
  });
}

function cannotListen(name: string, code: string): CodedError {
  const why = code === 'EADDRINUSE' ? 'another program does' : `it gives ${code}`;
  return wrongUsage(
    `Cannot listen on "${name}": ${why}, expected a free address`,
    'Choose another with --listen ADDRESS:PORT or http.listen in palisade.toml; port 0 takes a free one.',
  );
}

async function drain(app: HttpApp | null, drainMs: number): Promise<void> {
  if (app === null) return;
  app.drain();
  await until(() => !app.isBusy, drainMs);
  // Streams whose last event was just written are not cut off.
  if (app.requests.size > 0) await pause(LAST_EVENTS_MS);
  app.stop();
  await until(() => !app.isBusy && app.requests.size === 0, CANCELLED_MS);
}

async function until(isReached: () => boolean, mostMs: number): Promise<void> {
  for (let waitedMs = 0; !isReached() && waitedMs < mostMs; waitedMs += DRAIN_LOOK_MS)
    await pause(DRAIN_LOOK_MS);
}

/** Answers in flight may arrive; idle connections are closed at once, and hung ones after a moment. */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), FLUSH_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
