import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openEgressWorld } from '../fixtures/egress/index.ts';
import { askInside, connectTo, getAt, getFrom, runScript } from '../fixtures/egress/inside.ts';

const HOME = '127.0.0.1';
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';

/** A server of any protocol: it keeps what it hears and takes it for an offer to switch. */
async function startAgreeing() {
  const heard: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      heard.push(bytes.toString('latin1'));
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
  }).listen(0, HOME);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, heard };
}

function bytes(...numbers: readonly number[]): string {
  return String.fromCharCode(...numbers);
}

async function openWorld(entries: (port: number) => readonly string[]) {
  const server = await startAgreeing();
  const world = await openEgressWorld({
    entries: [...entries(server.port), `${HOME}:${server.port}`],
    names: { 'ok.test': [HOME], 'evil.test': [HOME] },
  });
  return { ...server, world, at: [server.port >> 8, server.port & 255] as const };
}

describe('a run that speaks SOCKS to its proxy', () => {
  test('is refused every command of every version, also to the allowed host', async () => {
    const { world, port, at, heard } = await openWorld((own) => [`ok.test:${own}`]);
    const name = bytes(7).concat('ok.test');
    const greeting = bytes(5, 1, 0);
    const commands = { CONNECT: 1, BIND: 2, 'UDP ASSOCIATE': 3 };
    const messages = Object.entries(commands).flatMap(([command, number]) => [
      [`5 ${command} by name`, greeting + bytes(5, number, 0, 3) + name + bytes(...at)],
      [`5 ${command} by address`, greeting + bytes(5, number, 0, 1, 127, 0, 0, 1, ...at)],
      [`5 ${command} over IPv6`, greeting + bytes(5, number, 0, 4, ...Array(15).fill(0), 1, ...at)],
      [`4 ${command}`, bytes(4, number, ...at, 127, 0, 0, 1, 0)],
      [`4a ${command}`, bytes(4, number, ...at, 0, 0, 0, 1, 0).concat('ok.test', bytes(0))],
    ]);
    const { answers, egress } = await askInside(world, {
      ...Object.fromEntries(
        [...messages, ['5 with a password', bytes(5, 2, 0, 2, 1, 3).concat('run')]].map(([key, send]) => [
          key,
          { send },
        ]),
      ),
      control: { send: connectTo(`ok.test:${port}`), inside: 'hello\n' },
    });
    const { control, ...refused } = answers;
    expect(new Set(Object.values(refused))).toEqual(new Set(['400']));
    expect(egress).toMatchObject({ malformed: 16, requests: 1, faults: 0 });
    expect([control, heard, world.lookedUp]).toEqual(['101', ['hello\n'], ['ok.test']]);
  });

  test('gets nowhere with a program that knows it', async () => {
    const { world, port, heard } = await openWorld((own) => [`ok.test:${own}`]);
    const ways = ['socks4', 'socks4a', 'socks5', 'socks5h'].map(
      (scheme) =>
        `curl -s --max-time 9 --noproxy '' -x ${scheme}://127.0.0.1:3128 http://127.0.0.1:${port}/ || echo no`,
    );
    const control = `curl -s -p -x $HTTP_PROXY http://ok.test:${port}/; echo through`;
    const { output, message } = await runScript(world, [...ways, control]);
    expect(output?.stdout, message).toBe('no\nno\nno\nno\nthrough\n');
    expect(heard).toHaveLength(1);
  });
});

describe('a run that switches to another protocol', () => {
  test('does so in a tunnel to a host that is allowed, and in no other', async () => {
    const { world, port, heard } = await openWorld((own) => [`ok.test:${own}`]);
    const { answers } = await askInside(world, {
      'WebSocket in a tunnel': { send: connectTo(`ok.test:${port}`), inside: getAt('ok.test', '/', UPGRADE) },
      'WebSocket at a door': { send: getAt('ok.test', '/', UPGRADE), to: ['ok.test', port] },
      'HTTP/2 in a tunnel': {
        send: connectTo(`ok.test:${port}`),
        inside: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      },
      'denied WebSocket': { send: connectTo(`evil.test:${port}`), inside: getAt('evil.test', '/', UPGRADE) },
      'denied HTTP/2': { send: connectTo(`evil.test:${port}`), inside: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
    });
    expect(answers).toEqual({
      ...{ 'WebSocket in a tunnel': '101', 'WebSocket at a door': '101', 'HTTP/2 in a tunnel': '101' },
      ...{ 'denied WebSocket': '403', 'denied HTTP/2': '403' },
    });
    expect([heard.length, world.lookedUp.includes('evil.test')]).toEqual([3, false]);
  });

  test('is refused where each request is read: there is no way to change what is spoken', async () => {
    const { world, port, heard } = await openWorld((own) => [`http://ok.test:${own}`]);
    const url = `http://ok.test:${port}`;
    const to = ['ok.test', port] as const;
    const { answers } = await askInside(world, {
      WebSocket: { send: getFrom(`${url}/`, UPGRADE) },
      'WebSocket at the door': { send: getAt(`ok.test:${port}`, '/', UPGRADE), to },
      'HTTP/2': { send: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
      'HTTP/2 at the door': { send: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', to },
      'UDP by upgrade': {
        send: getFrom(
          `${url}/.well-known/masque/udp/ok.test/443/`,
          'Connection: Upgrade\r\nUpgrade: connect-udp\r\n',
        ),
      },
      'TLS at the door': { send: bytes(22, 3, 1, 0, 5, 1, 0, 0, 1, 0), to },
      'tunnel at the door': { send: connectTo(`ok.test:${port}`).replace('<credential>', ''), to },
      'another protocol in a tunnel': { send: connectTo(`ok.test:${port}`), inside: 'hello\r\n\r\n' },
      'TLS in a tunnel': { send: connectTo(`ok.test:${port}`), inside: bytes(22, 3, 1, 0, 5, 1, 0, 0, 1, 0) },
      'WebSocket in a tunnel': {
        send: connectTo(`ok.test:${port}`),
        inside: getAt(`ok.test:${port}`, '/', UPGRADE),
      },
    });
    expect(answers).toEqual({
      ...{ WebSocket: '501', 'WebSocket at the door': '501', 'UDP by upgrade': '501' },
      ...{ 'HTTP/2': '505', 'HTTP/2 at the door': '505', 'TLS at the door': '400' },
      ...{
        'tunnel at the door': '400',
        'another protocol in a tunnel': '400',
        'WebSocket in a tunnel': '501',
      },
      'TLS in a tunnel': expect.stringMatching(/^(closed|ECONNRESET)$/),
    });
    expect(heard).toEqual([]);
    await askInside(world, { control: { send: getAt(`ok.test:${port}`), to } });
    expect(heard).toHaveLength(1);
  });
});
