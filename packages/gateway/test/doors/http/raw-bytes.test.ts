import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { openTestDoor, sendBytes } from './open-door.ts';

/* Bytes as an attacker would send them, past every client that would refuse to. */

const HEAD = 'host: localhost\r\nauthorization: Bearer call\r\n';
const CLOSE = 'connection: close\r\n';
const POST = `POST /t/echo HTTP/1.1\r\n${HEAD}content-type: application/json\r\n`;
const BODY = '{"message":"hi"}';
const GOOD = `${POST}content-length: ${BODY.length}\r\n\r\n${BODY}`;
const statusesOf = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 ([0-9]{3}) [A-Z]/g)].map(([, status]) => Number(status));
const withClose = (text: string) => text.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n');

describe('bytes that are no single request', () => {
  test('are refused, and the connection ends; what is one request is answered', async () => {
    const { port, seen } = await openTestDoor();
    const table: readonly (readonly [string, string, number])[] = [
      [
        'a length beside chunks',
        `${POST}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
        400,
      ],
      ['two lengths', `${POST}content-length: 16\r\ncontent-length: 17\r\n\r\n${BODY}`, 400],
      ['a length that is no number', `${POST}content-length: 1e3\r\n\r\n${BODY}`, 400],
      ['chunks without a number', `${POST}transfer-encoding: chunked\r\n\r\nzz\r\n`, 400],
      ['an unknown coding', `${POST}${CLOSE}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 400],
      ['a header over two lines', `${POST}${CLOSE}x: a\r\n b\r\n\r\n`, 400],
      ['a space before the colon', `GET /healthz HTTP/1.1\r\nhost : localhost\r\n\r\n`, 400],
      ['a NUL in the path', `GET /t/\0 HTTP/1.1\r\n${HEAD}\r\n`, 400],
      ['a method that is none', `FETCH /healthz HTTP/1.1\r\n${HEAD}\r\n`, 400],
      ['no HTTP', 'hello\r\n\r\n', 400],
      ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
      ['a header without end', `GET /healthz HTTP/1.1\r\nx: ${'a'.repeat(20_000)}`, 431],
      ['headers without end', `GET /healthz HTTP/1.1\r\n${`x: ${'a'.repeat(20)}\r\n`.repeat(1_000)}`, 431],
    ];
    for (const [what, bytes, status] of table)
      expect([what, statusesOf(await sendBytes(port, bytes))]).toEqual([what, [status]]);
    expect(seen.names).toEqual([]);
    expect(statusesOf(await sendBytes(port, withClose(GOOD)))).toEqual([200]);
  });

  test('are refused where a header by which they are judged stands twice', async () => {
    const { port, seen } = await openTestDoor();
    for (const twice of [
      'host: localhost',
      'host: evil',
      'authorization: Bearer admin',
      'content-type: text/plain',
    ])
      expect([
        twice,
        statusesOf(await sendBytes(port, withClose(GOOD.replace('\r\n', `\r\n${twice}\r\n`)))),
      ]).toEqual([twice, [400]]);
    expect(statusesOf(await sendBytes(port, 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n'))).toEqual([
      400,
    ]);
    expect(seen.names).toEqual([]);
  });
});

describe('bodies that are too large', () => {
  const SMALL = { toml: '[http]\nmax_body_bytes = 4096\n' };

  test('are refused by what they say, before they are sent', async () => {
    const { port } = await openTestDoor(SMALL);
    const answer = await sendBytes(port, `${POST}content-length: 1000000000\r\n\r\n{`);
    expect(statusesOf(answer)).toEqual([413]);
    expect(answer).toContain('door/too-large');
    expect(answer.toLowerCase()).toContain('connection: close');
  });

  test('are refused while they come in chunks, and the connection ends', async () => {
    const { port, seen } = await openTestDoor(SMALL);
    const chunk = `400\r\n${' '.repeat(1024)}\r\n`;
    const answer = await sendBytes(port, `${POST}transfer-encoding: chunked\r\n\r\n${chunk.repeat(64)}`);
    expect(statusesOf(answer)).toEqual([413]);
    const small = `${POST}connection: close\r\ntransfer-encoding: chunked\r\n\r\n10\r\n${BODY}\r\n0\r\n\r\n`;
    expect(statusesOf(await sendBytes(port, small))).toEqual([200]);
    expect(seen.names).toEqual(['echo']);
  });

  test('are not asked for where the sender waits to be asked', async () => {
    const { port } = await openTestDoor(SMALL);
    const head = (length: number) =>
      `${POST}expect: 100-continue\r\nconnection: close\r\ncontent-length: ${length}\r\n\r\n`;
    expect(statusesOf(await sendBytes(port, head(1_000_000)))).toEqual([413]);
    expect(statusesOf(await sendBytes(port, `${head(BODY.length)}${BODY}`))).toEqual([100, 200]);
  });
});

describe('senders that take their time', () => {
  const SHORT = { toml: '[http]\nrequest_timeout_ms = 200\n' };

  test.each([
    ['nothing', ''],
    ['half a header', 'GET /healthz HTTP/1.1\r\nhost: loc'],
    ['half a body', `${POST}content-length: 100\r\n\r\n{"message`],
    ['half a chunk', `${POST}transfer-encoding: chunked\r\n\r\nff\r\n{`],
  ])('are told so and closed after %s', async (_, bytes) => {
    const { port, seen } = await openTestDoor(SHORT);
    expect(statusesOf(await sendBytes(port, bytes))).toEqual([408]);
    expect(seen.names).toEqual([]);
  });

  test('have no way to hold a call that nobody waits for', async () => {
    const { port, gateway, seen } = await openTestDoor();
    const call = '{"tool":"palisade.sleep","input":{"ms":60000}}';
    const bytes = `${POST.replace('/t/echo', '/v1/calls')}content-length: ${call.length}\r\n\r\n${call}`;
    await sendBytes(port, bytes, 'half-close');
    await expect.poll(() => seen.signals.map(({ aborted }) => aborted)).toEqual([true]);
    await expect.poll(() => gateway.running.size, { timeout: 20_000 }).toBe(0);
  });
});

describe('many at once', () => {
  test('requests in one go on one connection are answered in their order', async () => {
    const { port } = await openTestDoor();
    const ids = Array.from({ length: 50 }, (_, i) => `n${i}`);
    const gets = ids.map((id) => `GET /t/items/${id} HTTP/1.1\r\n${HEAD}\r\n`).join('');
    const answer = await sendBytes(port, `${gets}${withClose(GOOD)}`);
    expect([...answer.matchAll(/"id":"(n[0-9]+)"/g)].map(([, id]) => id)).toEqual(ids);
    expect(statusesOf(answer)).toEqual([...ids.map(() => 200), 200]);
  });

  test('a thousand connections are held, and none beyond the most that are configured', async () => {
    const { port, ask } = await openTestDoor({ toml: '[http]\nmax_connections = 1001\n' });
    const sockets = await Promise.all(Array.from({ length: 1000 }, () => opened(port)));
    expect((await ask('/healthz')).status).toBe(200);
    const one = await opened(port);
    await expect(ask('/healthz')).rejects.toThrow();
    for (const socket of [...sockets, one]) socket.destroy();
    await expect
      .poll(() =>
        ask('/healthz').then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });
});

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => resolve(socket));
    socket.once('error', reject);
  });
}
