import type { Socket } from 'node:net';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { FetchLimits } from '../../../src/egress/limits.ts';
import { allowing, eventually, HELLO, NAME, startTarget } from '../proxy/world.ts';
import { codeOf, LOOPBACK, openBoth, openWorld, textOf } from './world.ts';

const OK = 'HTTP/1.1 200 OK\r\n';

/** Asks a target that does this with the connection as soon as it has the request. */
async function ask(answer: (socket: Socket) => void, limits: Partial<FetchLimits>) {
  const target = await startTarget((socket) => socket.once('data', () => answer(socket)));
  const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK, limits });
  const outcome = await get(`http://${NAME}:${target.port}/`);
  // Whatever it was: the target notices that nobody listens any more.
  await eventually(() => target.sockets.every((socket) => socket.destroyed || socket.readableEnded));
  return outcome;
}

/** Sends this as fast as it is taken, for ever. */
function forever(socket: Socket, start: string, piece: string | Buffer): void {
  const send = () => {
    while (socket.writable && socket.write(piece));
  };
  socket.on('drain', send);
  socket.write(start);
  send();
}

/** Sends a byte now and then, for ever. */
function drip(socket: Socket, start: string, piece: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(piece), 10);
  socket.once('close', () => clearInterval(timer));
  socket.once('end', () => clearInterval(timer));
}

describe('an answer that two programs would read in two ways', () => {
  it.each([
    ['two lengths', `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
    ['the same length twice', `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
    ['a list of lengths', `${OK}Content-Length: 5, 5\r\n\r\nhello`],
    ['a length with a sign', `${OK}Content-Length: +5\r\n\r\nhello`],
    ['a length and chunks', `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two transfer codings', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a masked coding', `${OK}Transfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello`],
    ['a folded header', `${OK}X-A: b\r\n c\r\nContent-Length: 5\r\n\r\nhello`],
    ['a lone LF', `${OK}X-A: b\nContent-Length: 5\r\n\r\nhello`],
    ['a lone LF at the end', `${OK}Content-Length: 5\n\nhello`],
    ['a lone CR', `${OK}X-A: b\rContent-Length: 5\r\n\r\nhello`],
    ['a blank before the colon', `${OK}Content-Length : 5\r\n\r\nhello`],
    ['a header without a colon', `${OK}hello\r\n\r\n`],
    ['a NUL', `${OK}X-A: \0\r\n\r\n`],
    ['a bare LF in chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n`],
    ['a chunk that is too long', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n`],
    ['a size with a sign', `${OK}Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n`],
    ['another version', 'HTTP/2 200 OK\r\n\r\n'],
    ['no version', 'hello'],
    ['another status', 'HTTP/1.1 999 OK\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n'],
    ['a question of a proxy', 'HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n'],
    ['nothing at all', ''],
    ['half a head', `${OK}Content-Le`],
    ['two encodings', `${OK}Content-Encoding: gzip, br\r\nContent-Length: 5\r\n\r\nhello`],
    ['an unknown encoding', `${OK}Content-Encoding: zstd\r\nContent-Length: 5\r\n\r\nhello`],
    ['an encoding that it has not', `${OK}Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello`],
    ['a length that it has not', `${OK}Content-Length: 6\r\n\r\nhello`],
    ['no last chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
  ])('is malformed: %s', async (_what, answer) => {
    const { get, url, target } = await openBoth(answer);
    const outcome = await get(url);
    expect(outcome).toMatchObject({
      ok: false,
      code: 'malformed',
      why: expect.stringMatching(/^Cannot .*expected/),
    });
    expect(target.seen).toHaveLength(1);
  });

  it('is not made of two answers', async () => {
    const { get, url } = await openBoth(`${HELLO}${HELLO}`);
    expect(textOf(await get(url))).toBe('hello');
  });
});

describe('an answer that breaks off', () => {
  it.each([
    ['in its head', 'HTTP/1.1 200'],
    ['in a body with a length', `${OK}Content-Length: 10\r\n\r\nhello`],
    ['in chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`],
    ['in a body that ends with the connection', `${OK}\r\nhello`],
  ])('%s is no answer', async (_what, start) => {
    const outcome = await ask((socket) => {
      socket.write(start, () => setTimeout(() => socket.resetAndDestroy(), 50));
    }, {});
    expect(textOf(outcome)).toBe(
      'unreachable: Cannot use response: the target broke off, expected all of it',
    );
  });
});

describe('an answer without an end', () => {
  it.each([
    ['a header', OK, 'X-A: '.padEnd(10_000, 'a'), { responseHeaderBytes: 5_000 }],
    ['headers', OK, 'X-A: b\r\n', {}],
    ['a status line', 'HTTP/1.1 200 ', 'a'.repeat(1_000), {}],
    ['a body', `${OK}\r\n`, Buffer.alloc(65_536), {}],
    [
      'chunks',
      `${OK}Transfer-Encoding: chunked\r\n\r\n`,
      '1\r\nx\r\n'.repeat(1_000),
      { responseBytes: 100_000 },
    ],
    ['the size of a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n5;`, 'a'.repeat(1_000), {}],
    ['trailers', `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n`, 'X-A: b\r\n', {}],
    ['a body of many bytes', `${OK}\r\n`, Buffer.alloc(65_536), { wireBytes: 300_000, responseBytes: 1e12 }],
  ])('is stopped: %s', async (_what, start, piece, limits) => {
    const outcome = await ask((socket) => forever(socket, start, piece), limits);
    expect(['too-large', 'malformed']).toContain(codeOf(outcome));
    expect(outcome.bytesIn).toBeLessThan(17_000_000);
  });

  it('may put off its answer, but not again and again', async () => {
    const hold = 'HTTP/1.1 100 Continue\r\n\r\n';
    const some = await openBoth(`${hold.repeat(8)}${HELLO}`);
    const many = await openBoth(`${hold.repeat(9)}${HELLO}`);
    expect(textOf(await some.get(some.url))).toBe('hello');
    expect(textOf(await many.get(many.url))).toContain('puts off its answer');
  });

  it('has no more in all its heads than in one', async () => {
    const hints = `HTTP/1.1 103 Hints\r\nLink: ${'a'.repeat(600)}\r\n\r\n`;
    const limits = { responseHeaderBytes: 1_000 };
    const one = await openBoth(`${hints}${HELLO}`, { limits });
    const two = await openBoth(`${hints.repeat(2)}${HELLO}`, { limits });
    expect(textOf(await one.get(one.url))).toBe('hello');
    expect(codeOf(await two.get(two.url))).toBe('too-large');
  });
});

describe('a bomb', () => {
  const SIZE = 100_000_000;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 2 };
  it.each([
    ['gzip', gzipSync(Buffer.alloc(SIZE), { level: 1 }), 100_000],
    // So small that all of it comes with the head; it is its unpacking that is stopped.
    ['br', brotliCompressSync(Buffer.alloc(SIZE), { params }), Number.POSITIVE_INFINITY],
  ] as const)('in %s is stopped by its size and by its expansion', async (coding, bomb, mostRead) => {
    const head = Buffer.from(`${OK}Content-Encoding: ${coding}\r\nContent-Length: ${bomb.length}\r\n\r\n`);
    const { get, url } = await openBoth(Buffer.concat([head, bomb]));
    const before = process.memoryUsage().arrayBuffers;
    const bySize = await get(url, {}, { limits: { responseBytes: 1_000_000, expansionRatio: 1e9 } });
    const byExpansion = await get(url, {}, { limits: { responseBytes: 1e12, expansionRatio: 200 } });
    expect(textOf(bySize)).toContain('expected at most 1000000 bytes');
    expect(textOf(byExpansion)).toContain('expected at most 200 bytes for one');
    expect(Math.max(bySize.bytesIn, byExpansion.bytesIn)).toBeLessThan(
      Math.min(mostRead, bomb.length + 1_000),
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
  });

  it('of single bytes takes no more than what it says', async () => {
    const bytes = 200_000;
    const { get, url } = await openBoth(
      `${OK}Transfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(bytes)}0\r\n\r\n`,
    );
    const outcome = await get(url);
    expect(outcome.ok && outcome.body.length).toBe(bytes);
    expect(outcome.ok && outcome.body.buffer.byteLength).toBeLessThan(bytes * 3);
  });
});

describe('a slow answer', () => {
  it.each([
    ['nothing', { idleMs: 150 }, () => {}],
    ['a head byte by byte', { idleMs: 150 }, (socket: Socket) => drip(socket, OK, 'a')],
    ['headers line by line', { idleMs: 150 }, (socket: Socket) => drip(socket, OK, 'X-A: b\r\n')],
    [
      'a body that stops',
      { idleMs: 150 },
      (socket: Socket) => socket.write(`${OK}Content-Length: 9\r\n\r\nhello`),
    ],
    ['a body byte by byte', { wholeMs: 300 }, (socket: Socket) => drip(socket, `${OK}\r\n`, 'a')],
    ['one put off again', { idleMs: 150 }, (socket: Socket) => socket.write('HTTP/1.1 100 Wait\r\n\r\n')],
  ])('ends by time: %s', async (_what, limits, answer) => {
    const outcome = await ask(answer, limits);
    expect(textOf(outcome)).toMatch(/^too-slow: Cannot go on: .* did not come in time, expected it within/);
  });

  it('may take longer than a pause may, as long as it goes on', async () => {
    const target = await startTarget(async (socket) => {
      socket.write(`${OK}Content-Length: 10\r\n\r\n`);
      for (let sent = 0; sent < 10; sent += 1) {
        await new Promise((resolve) => setTimeout(resolve, 60));
        socket.write('a');
      }
    });
    const limits = { idleMs: 500 };
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK, limits });
    expect(textOf(await get(`http://${NAME}:${target.port}/`))).toBe('a'.repeat(10));
  });

  it('of a target that does not read ends by time', async () => {
    const target = await startTarget((socket) => void socket.pause());
    const limits = { idleMs: 200, requestBytes: 1e9, wireBytes: 1e9 };
    const { get } = openWorld({ entries: allowing(NAME, target.port), answers: LOOPBACK, limits });
    const body = new Uint8Array(48_000_000);
    const outcome = await get(`http://${NAME}:${target.port}/`, { method: 'POST', body });
    expect(codeOf(outcome)).toBe('too-slow');
    expect(outcome.bytesOut).toBeLessThan(body.length);
  });

  it('of a name server ends by time', async () => {
    const answers = { [NAME]: () => new Promise<string[]>(() => {}) };
    const { get } = openWorld({ entries: [NAME], answers, limits: { wholeMs: 100 } });
    expect(codeOf(await get(`http://${NAME}/`))).toBe('too-slow');
  });
});

describe('a request that does not fit', () => {
  it('never leaves the machine', async () => {
    const { get, url, target, asked } = await openBoth(HELLO);
    const post = { method: 'POST', body: new Uint8Array(1_000) };
    const headers = [['X-A', 'a'.repeat(1_000)]] as const;
    for (const outcome of [
      await get(url, post, { limits: { wireBytes: 1_000 } }),
      await get(url, post, { limits: { requestBytes: 999 } }),
      await get(url, { headers }, { limits: { requestHeaderBytes: 1_020 } }),
      await get(url, {}, { limits: { wireBytes: 0 } }),
      await get(url, {}, { limits: { wireBytes: Number.NaN } }),
    ])
      expect(outcome).toMatchObject({ ok: false, code: 'too-large', bytesOut: 0, hops: [] });
    expect({ asked, seen: target.seen }).toEqual({ asked: [], seen: [] });
    expect(codeOf(await get(url, { ...post, headers }))).toBe('ok');
  });
});
