import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { type Answers, tryInside, tryOutside } from '../fixtures/jail/index.ts';

const PROGRAM = 'calls-out.py';
/** What the control reaches in this process. */
const SERVICES = ['in the workspace', 'every address', 'datagram'];
/** What getaddrinfo says where nobody answers: EAI_AGAIN or EAI_NONAME. */
const NO_NAME = expect.stringMatching(/^-[23]$/);
/** Node gives a socket no abstract name. */
const ABSTRACT_SERVICE = `
import socket, sys
service = socket.socket(socket.AF_UNIX)
service.bind('\\0' + sys.argv[1])
service.listen()
print('ready', flush=True)
callers = []
while True:
    callers.append(service.accept())
    print('called', flush=True)
`;

describe('a command that calls services of the host', () => {
  const jail = sharedGateway();
  const callers: string[] = [];
  const servers: Server[] = [];
  const observed: string[] = [];
  let service: ChildProcess | null = null;
  let datagrams: DatagramSocket | null = null;
  let inside: Answers = {};
  let outside: Answers = {};
  let receivedFromInside: readonly string[] = [];
  let end: CommandEnd;

  const listen = async (name: string, where: string | number, host?: string) => {
    const server = createServer((socket) => {
      // A connection without data is the one by which the sandbox finds out who listens.
      socket.on('error', () => undefined).once('data', () => callers.push(name));
    });
    servers.push(server);
    server.listen(typeof where === 'string' ? { path: where } : { port: where, host });
    await once(server, 'listening');
    return server.address() as AddressInfo;
  };

  beforeAll(async () => {
    const abstract = `palisade-canary-${randomUUID()}`;
    service = spawn('/usr/bin/python3', ['-c', ABSTRACT_SERVICE, abstract], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    service.stdout?.on('data', (chunk) => observed.push(...String(chunk).split('\n').filter(Boolean)));
    await once(service.stdout as Readable, 'data');
    await listen('in the workspace', join(jail.workspace, 'service.sock'));
    const { port } = await listen('every address', 0, '0.0.0.0');
    datagrams = createSocket('udp4', () => callers.push('datagram'));
    datagrams.bind(0);
    await once(datagrams, 'listening');
    const lan = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const own = lan.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.2';
    const wish = {
      unix: { abstract: `@${abstract}`, 'in the workspace': 'service.sock' },
      tcp: { loopback: ['127.0.0.1', port], own: [own, port] },
      udp: { datagram: ['127.0.0.1', datagrams.address().port] },
      names: ['localhost'],
    };
    // The world is asked from inside alone.
    const world = {
      metadata: ['169.254.169.254', 80],
      resolver: ['8.8.8.8', 53],
      six: ['2001:4860:4860::8888', 53],
    };
    const names = [...wish.names, 'example.com', 'metadata.google.internal'];
    const tried = await tryInside(jail, PROGRAM, { ...wish, tcp: { ...wish.tcp, ...world }, names });
    [end, inside] = [tried.end, tried.answers];
    await sleep(50);
    receivedFromInside = [...callers, ...observed];
    outside = await outsideOf(wish);
  });
  afterAll(() => {
    for (const server of servers) server.close();
    datagrams?.close();
    service?.kill();
  });

  /** The control cannot be waited for in place: its calls are answered by this process. */
  const outsideOf = async (wish: object) => {
    const answers = tryOutside(PROGRAM, wish, jail.workspace);
    while (!SERVICES.every((name) => callers.includes(name))) await sleep(10);
    return answers;
  };

  test('reaches none of them', () => {
    expect(end, end.message).toMatchObject({ code: 'ok', execution: { tier: 'c' } });
    expect(receivedFromInside).toEqual(['ready']);
    expect(callers).toEqual(expect.arrayContaining(SERVICES));
  });

  test('has Unix sockets and a network that end at itself', () => {
    expect(inside).toMatchObject({
      ...{ abstract: 'ECONNREFUSED', 'in the workspace': 'EACCES', loopback: 'ECONNREFUSED' },
      ...{ own: 'ENETUNREACH', metadata: 'ENETUNREACH', resolver: 'ENETUNREACH', six: 'ENETUNREACH' },
      ...{ 'look up example.com': NO_NAME, 'look up metadata.google.internal': NO_NAME },
    });
    expect(inside.pair).toBe('still works');
    expect(outside).toMatchObject({
      abstract: 'reached',
      'in the workspace': 'reached',
      loopback: 'reached',
    });
  });

  test('holds three descriptors and can hand none to the gateway', () => {
    expect(inside.descriptors).toMatch(/^0:\w+ 1:pipe 2:pipe$/);
    for (const number of [1, 2]) expect(inside[`pass through ${number}`]).toBe('ENOTSOCK');
    for (const number of [0, 1, 2]) expect(inside[`reconnect ${number}`]).not.toBe('reached');
  });

  test.each([
    ['bash', ['-c', 'echo x > /dev/tcp/127.0.0.1/22']],
    ['curl', ['--silent', '--max-time', '3', 'http://example.com']],
    ['git', ['ls-remote', 'https://example.com/x.git']],
  ])('gets nothing through %s', async (command, args) => {
    const { code } = await jail.run({ command, args, tier: 'c' });
    expect(code).toBe('tier/exited');
  });
});
