/** TLS on loopback: authorities, targets with certificates, and clients that speak through a tunnel. */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { connect, createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { formatHost } from '../../../src/egress/authority.ts';
import type { ProxyLimits } from '../../../src/egress/limits.ts';
import type { ProxyOptions } from '../../../src/egress/proxy/proxy.ts';
import {
  type CertificateAuthority,
  newAuthority,
  newInterceptor,
} from '../../../src/egress/tls/certificate.ts';
import { hostOf } from '../sample.ts';
import { HELLO, listenOn, NAME, openTunnel, startProxy, type Talk } from './world.ts';

export function newTestAuthority(
  name: string,
  terms: { nowMs?: number; lifeMs?: number } = {},
): CertificateAuthority {
  return newAuthority({
    nowMs: Date.now(),
    lifeMs: 3_600_000,
    name,
    serial: () => randomBytes(16),
    ...terms,
  });
}

/** Whom the targets have their certificates from. */
export const TARGETS = newTestAuthority('targets');

/** What a server needs to be this host. */
export function identityOf(host: string, authority: CertificateAuthority = TARGETS): TlsOptions {
  const { keyPem, certificatePem } = authority.leafFor(hostOf(host));
  return { key: keyPem, cert: certificatePem };
}

/** A target that speaks TLS and does what it is told with each connection. It keeps what it was sent. */
export async function startSecure(
  options: TlsOptions,
  serve: (socket: TLSSocket, received: () => string) => void,
) {
  const seen: string[] = [];
  const sockets: TLSSocket[] = [];
  const raws: Socket[] = [];
  const server = createServer(options, (socket) => {
    const index = seen.push('') - 1;
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      seen[index] += piece.toString('latin1');
    });
    serve(socket, () => seen[index] ?? '');
  });
  server.on('connection', (socket) => raws.push(socket));
  server.on('tlsClientError', () => {});
  const port = await listenOn(server);
  onTestFinished(() => {
    server.close();
    for (const socket of raws) socket.destroy();
  });
  return { port, seen, sockets, raws };
}

export type SecureClient = {
  readonly socket: TLSSocket;
  /** What was said inside, and how it ended. */
  readonly ended: Promise<Talk>;
  readonly until: (part: string) => Promise<void>;
};

export type ClientTerms = {
  readonly ca: string;
  readonly servername?: string;
  /** For who has to prove what, when it is not the name that is sent. */
  readonly host?: string;
  readonly protocols?: readonly string[];
};

/** Speaks TLS over a socket. */
export function speakTls(under: Socket, { ca, servername, host, protocols }: ClientTerms): SecureClient {
  const socket = connect({
    socket: under,
    ca,
    ...(servername === undefined ? {} : { servername }),
    ...(host === undefined ? {} : { host }),
    ...(protocols === undefined ? {} : { ALPNProtocols: [...protocols] }),
  });
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
      end ||= 'end';
      socket.end();
    });
    socket.on('close', () => {
      const at = text.indexOf('\r\n\r\n');
      resolve({ text, head: text.slice(0, at), body: text.slice(at + 4), end });
    });
  });
  onTestFinished(() => void socket.destroy());
  const until = (part: string) =>
    new Promise<void>((found) => {
      waiting.push({ part, found });
      look();
    });
  return { socket, ended, until };
}

/** Whom the clients of an opened tunnel have to trust. */
export const RUN = newTestAuthority('run');

type OpenedTerms = {
  /** Entries for the allowed name, whose port is written as PORT. */
  readonly entries?: readonly string[];
  readonly host?: string;
  readonly target?: TlsOptions;
  /** A target that is there already. */
  readonly place?: Awaited<ReturnType<typeof startSecure>>;
  readonly limits?: Partial<ProxyLimits>;
  readonly options?: Partial<ProxyOptions>;
  readonly serve?: (socket: TLSSocket, received: () => string) => void;
};

/** Answers as soon as a head is there. */
export function sayHello(socket: TLSSocket, received: () => string): void {
  socket.on('data', () => {
    if (received().includes('\r\n\r\n')) socket.end(HELLO);
  });
}

/** A target with TLS, a proxy that opens the tunnels to it, and a way to ask for something inside. */
export async function startOpened(terms: OpenedTerms = {}) {
  const { host = NAME, limits = {}, options = {}, serve = sayHello } = terms;
  const target = terms.place ?? (await startSecure(terms.target ?? identityOf(host), serve));
  const entries = terms.entries ?? [`GET https://${host}:PORT/v1/`];
  const world = await startProxy({
    entries: [
      ...entries.map((entry) => entry.replace('PORT', String(target.port))),
      `127.0.0.1:${target.port}`,
    ],
    answers: { [NAME]: ['127.0.0.1'], 'other.test': ['127.0.0.1'] },
    limits,
    options: {
      intercept: newInterceptor({ authority: RUN, isFor: (each) => formatHost(each) === host }),
      trust: TARGETS.certificatePem,
      ...options,
    },
  });
  const authority = `${host}:${target.port}`;
  /** A client inside the tunnel. */
  const enter = async (client: Partial<ClientTerms> = {}) => {
    const { socket } = await openTunnel(world.port, authority);
    return speakTls(socket, { ca: RUN.certificatePem, servername: host, ...client });
  };
  /** Sends this inside the tunnel, with a Host that fits, and waits for the end. */
  const ask = async (line: string, ...headers: string[]) => {
    const client = await enter();
    client.socket.write(`${[`${line} HTTP/1.1`, `Host: ${authority}`, ...headers].join('\r\n')}\r\n\r\n`);
    return client.ended;
  };
  return { ...world, target, authority, enter, ask };
}
