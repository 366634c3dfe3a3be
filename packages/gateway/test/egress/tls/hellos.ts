/** Hellos: those that real clients send, those that a test writes byte by byte, and what a real server reads in them. */
import { execFile } from 'node:child_process';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { onTestFinished } from 'vitest';
import { hostOf } from '../sample.ts';
import { authorityOf } from './authorities.ts';
import { messageIn } from './hello-oracle.ts';

const LOOPBACK = '127.0.0.1';

export async function listenOn(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** What a client sends before it is answered. */
async function capture(start: (port: number) => void): Promise<Buffer> {
  const server = createServer();
  const port = await listenOn(server);
  return new Promise((resolve) => {
    server.once('connection', (socket) => {
      const pieces: Buffer[] = [];
      socket.on('error', () => {});
      socket.on('data', (piece: Buffer) => {
        pieces.push(piece);
        const bytes = Buffer.concat(pieces);
        if (messageIn(bytes) === null) return;
        socket.destroy();
        resolve(bytes);
      });
    });
    start(port);
  });
}

/** Runs a program that ends in a failure, since nobody answers it. */
function runClient(command: string, args: readonly string[]): void {
  execFile(command, args, { timeout: 20_000 }, () => {}).stdin?.end();
}

export type Offer = { readonly name: string | null; readonly protocols: readonly string[] };

export const CLIENTS: Readonly<Record<string, (offer: Offer) => Promise<Buffer>>> = {
  node: ({ name, protocols }) =>
    capture((port) => {
      const servername = name === null ? {} : { servername: name };
      const socket = tlsConnect({ host: LOOPBACK, port, ALPNProtocols: [...protocols], ...servername });
      socket.on('error', () => {});
    }),
  'node with TLS 1.2 alone': ({ name, protocols }) =>
    capture((port) => {
      const servername = name === null ? {} : { servername: name };
      const terms = { host: LOOPBACK, port, maxVersion: 'TLSv1.2', ...servername } as const;
      tlsConnect({ ...terms, ALPNProtocols: [...protocols] }).on('error', () => {});
    }),
  openssl: (offer) => capture((port) => runClient('openssl', opensslArgs(port, offer))),
  'openssl in records of 512 bytes': (offer) =>
    capture((port) => runClient('openssl', [...opensslArgs(port, offer), '-max_send_frag', '512'])),
  curl: ({ name, protocols }) =>
    capture((port) => {
      const host = name ?? LOOPBACK;
      const alpn = protocols.length === 0 ? ['--no-alpn'] : ['--http1.1'];
      const common = [
        '-sS',
        '--noproxy',
        '*',
        '--max-time',
        '10',
        '--resolve',
        `${host}:${port}:${LOOPBACK}`,
      ];
      runClient('curl', [...common, ...alpn, `https://${host}:${port}/`]);
    }),
  python: ({ name, protocols }) =>
    capture((port) => {
      const script = `
import socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname = False
if ${protocols.length}: context.set_alpn_protocols(sys.argv[3].split(','))
context.wrap_socket(socket.create_connection((sys.argv[1], ${port})), server_hostname=sys.argv[2] or None)`;
      runClient('python3', ['-c', script, LOOPBACK, name ?? '', protocols.join(',')]);
    }),
};

function opensslArgs(port: number, { name, protocols }: Offer): string[] {
  const servername = name === null ? ['-noservername'] : ['-servername', name];
  const alpn = protocols.length === 0 ? [] : ['-alpn', protocols.join(',')];
  return ['s_client', '-connect', `${LOOPBACK}:${port}`, ...servername, ...alpn];
}

/** Bytes with their length before them, in so many bytes. */
export function vector(lengthBytes: 1 | 2 | 3, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(content.length, 0, lengthBytes);
  return Buffer.concat([length, content]);
}

export function extension(type: number, ...parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Uint8Array.of(type >> 8, type & 0xff), vector(2, ...parts)]);
}

export function nameEntry(name: string | Uint8Array, type = 0): Buffer {
  return Buffer.concat([Uint8Array.of(type), vector(2, Buffer.from(name as string, 'latin1'))]);
}

/** The extension with the names of the server. */
export function serverName(...entries: readonly Uint8Array[]): Buffer {
  return extension(0, vector(2, ...entries));
}

export function alpn(...protocols: readonly string[]): Buffer {
  return extension(16, vector(2, ...protocols.map((each) => vector(1, Buffer.from(each, 'latin1')))));
}

/** Extensions that every server asks for: groups, signatures, versions and a key. */
export const NEEDED: readonly Buffer[] = [
  extension(10, vector(2, Uint8Array.of(0, 29))),
  extension(13, vector(2, Uint8Array.of(4, 3, 8, 4, 4, 1))),
  extension(43, vector(1, Uint8Array.of(3, 4))),
  extension(51, vector(2, Uint8Array.of(0, 29), vector(2, Buffer.alloc(32, 9)))),
];

export type Parts = {
  readonly session?: Uint8Array;
  readonly suites?: Uint8Array;
  readonly methods?: Uint8Array;
  /** Null: the hello ends without the list. */
  readonly extensions?: readonly Uint8Array[] | null;
  readonly tail?: Uint8Array;
  readonly type?: number;
};

/** A message, whole and without records; every part can be replaced. */
export function messageOf(parts: Parts): Buffer {
  const {
    session = Buffer.alloc(32, 7),
    suites = Uint8Array.of(0x13, 1),
    methods = Uint8Array.of(0),
  } = parts;
  const { extensions = NEEDED, tail = Buffer.alloc(0), type = 1 } = parts;
  const head = [Uint8Array.of(3, 3), Buffer.alloc(32, 5), vector(1, session), vector(2, suites)];
  const list = extensions === null ? Buffer.alloc(0) : vector(2, ...extensions);
  const body = Buffer.concat([...head, vector(1, methods), list, tail]);
  return Buffer.concat([Uint8Array.of(type), vector(3, body)]);
}

export function record(content: Uint8Array, type = 22, version: readonly [number, number] = [3, 1]): Buffer {
  return Buffer.concat([Uint8Array.of(type, ...version), vector(2, content)]);
}

/** A message in records that end at these places. */
export function inRecords(message: Buffer, ends: readonly number[] = []): Buffer {
  const cuts = [...new Set(ends.map((end) => end % message.length))].filter((end) => end > 0);
  const places = [0, ...cuts.toSorted((a, b) => a - b), message.length];
  return Buffer.concat(places.slice(1).map((end, index) => record(message.subarray(places[index], end))));
}

/** One hello with this name, in one record. */
export function helloWith(name: string): Buffer {
  return inRecords(messageOf({ extensions: [serverName(nameEntry(name)), ...NEEDED, alpn('http/1.1')] }));
}

/** A server of OpenSSL; it tells which name it read in what it was sent, and null when it read none. */
export async function startServer(): Promise<(bytes: Uint8Array) => Promise<string | null>> {
  const { keyPem, certificatePem } = authorityOf({}).leafFor(hostOf('any.test'));
  const names: string[] = [];
  const server = createTlsServer({
    key: keyPem,
    cert: certificatePem,
    SNICallback: (name, answer) => {
      names.push(name);
      answer(null);
    },
  });
  server.on('tlsClientError', () => {});
  const port = await listenOn(server);
  return async (bytes) => {
    names.length = 0;
    const client = connect({ host: LOOPBACK, port });
    client.on('error', () => {}).resume();
    client.end(bytes);
    await new Promise((resolve) => client.once('close', resolve));
    return names.at(-1) ?? null;
  };
}
