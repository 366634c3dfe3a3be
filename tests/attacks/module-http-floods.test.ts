import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf, type Words } from '../fixtures/modules/guest.ts';
import { sharedModules } from '../fixtures/modules/index.ts';
import { sharedServers } from '../fixtures/modules/servers.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A host that a guest may ask answers with far too much, or too slowly: bounded in the gateway and in the engine. */

const MIB = 1024 * 1024;
const [TOO_LARGE, INVALID, UNAVAILABLE] = [-3, -6, -7];
const HEAD = 'HTTP/1.1 200 OK\r\n';
const PIECE = randomBytes(64 * 1024);
const BOMB = gzipSync(Buffer.alloc(64 * MIB), { level: 9 });

/** Sends pieces for as long as somebody listens. */
function pour(socket: Socket, next: () => Buffer): void {
  const go = () => {
    while (!socket.destroyed && socket.write(next()));
  };
  socket.on('drain', go);
  go();
}

function headers(count: number): string {
  return Array.from({ length: count }, (_, index) => `X-${index}: ${index}\r\n`).join('');
}

/** What a host says when anybody connects, and what the guest is told of it. */
const FLOODS: Readonly<Record<string, readonly [say: (socket: Socket) => void, code: number]>> = {
  '40,000 headers': [
    (socket) => socket.write(`${HEAD}${headers(40_000)}Content-Length: 0\r\n\r\n`),
    TOO_LARGE,
  ],
  'headers without an end': [
    (socket) => {
      socket.write(HEAD);
      pour(socket, () => Buffer.from(headers(1_000)));
    },
    TOO_LARGE,
  ],
  'one header of megabytes': [
    (socket) => socket.write(`${HEAD}X: ${'x'.repeat(4 * MIB)}\r\n\r\n`),
    TOO_LARGE,
  ],
  'a body of a gigabyte, announced': [
    (socket) => {
      socket.write(`${HEAD}Content-Length: ${1024 * MIB}\r\n\r\n`);
      pour(socket, () => PIECE);
    },
    TOO_LARGE,
  ],
  'a body without an end': [
    (socket) => {
      socket.write(`${HEAD}Connection: close\r\n\r\n`);
      pour(socket, () => PIECE);
    },
    TOO_LARGE,
  ],
  'chunks without an end': [
    (socket) => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
      pour(socket, () => Buffer.concat([Buffer.from('10000\r\n'), PIECE, Buffer.from('\r\n')]));
    },
    TOO_LARGE,
  ],
  'a small body that unpacks to a large one': [
    (socket) => {
      socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${BOMB.length}\r\n\r\n`);
      socket.write(BOMB);
    },
    TOO_LARGE,
  ],
  'one that unpacks twice': [
    (socket) => {
      const twice = gzipSync(BOMB);
      socket.write(`${HEAD}Content-Encoding: gzip, gzip\r\nContent-Length: ${twice.length}\r\n\r\n`);
      socket.write(twice);
    },
    UNAVAILABLE,
  ],
  'answers before the answer, without an end': [
    (socket) => pour(socket, () => Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100))),
    UNAVAILABLE,
  ],
  'a body that stops in the middle': [
    (socket) => void socket.end(`${HEAD}Content-Length: 100\r\n\r\nhalf`),
    UNAVAILABLE,
  ],
  'what is no answer at all': [(socket) => void socket.end(randomBytes(1_000)), UNAVAILABLE],
  nothing: [(socket) => void socket.end(), UNAVAILABLE],
};

const asks =
  (url: string, more: object = {}) =>
  ({ bytes }: Words) =>
    listOf(
      `(call $http_request (i32.const 10000) ${bytes(JSON.stringify({ url, ...more }))} (i32.const 0) (i32.const 0))`,
    );
/** Asks again and again until it is refused, and says how often it was answered. */
const ASKS_AGAIN =
  (url: string) =>
  ({ bytes }: Words) =>
    `(block $done (loop $again
      (br_if $done (i32.lt_s (call $http_request (i32.const 10000) ${bytes(JSON.stringify({ url }))} (i32.const 0) (i32.const 0)) (i32.const 0)))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $n) (i32.const 50)))))
    ${listOf('(local.get $n)')}`;

const nameOf = (what: string) => `test.${what.replaceAll(/\W+/g, '-')}`;
const { raw, http } = sharedServers();
const { call } = sharedModules(async () => {
  const flooding = await Promise.all(
    Object.entries(FLOODS).map(async ([what, [say]]) => {
      // Once somebody has asked.
      const { at } = await raw((socket) => void socket.once('data', () => say(socket)));
      return moduleTool(nameOf(what), guest(asks(`http://${at}/`)), { grants: { http: [at] } });
    }),
  );
  const fine = await http((_, response: ServerResponse) => void response.end(PIECE));
  const grants = { http: [fine.at] };
  const url = `http://${fine.at}/`;
  const pairs = Array.from({ length: 40_000 }, (_, index) => [`x-${index}`, '1']);
  return {
    tools: [
      ...flooding,
      moduleTool('test.fine', guest(asks(url)), { grants }),
      moduleTool('test.again', guest(ASKS_AGAIN(url)), { grants, limits: { egressBytes: 300_000 } }),
      moduleTool('test.says-much', guest(asks(url, { headers: pairs.slice(0, 4_000) }), { memory: '16' }), {
        grants,
      }),
      moduleTool('test.long-url', guest(asks(`${url}${'x'.repeat(60_000)}`)), { grants }),
      moduleTool(
        'test.large-body',
        guest(
          ({ bytes }) =>
            listOf(
              `(call $http_request (i32.const 10000) ${bytes(JSON.stringify({ url, method: 'POST' }))} (i32.const 0) (i32.const 8000000))`,
              `(call $http_request (i32.const 10000) ${bytes(JSON.stringify({ url, method: 'GET' }))} (i32.const 0) (i32.const 8))`,
            ),
          { memory: '128' },
        ),
        { grants },
      ),
      moduleTool('test.echo', guest(ECHO)),
    ],
  };
});

describe('a guest that is answered with', () => {
  test.each(Object.entries(FLOODS))('%s is told so, and nobody is filled with it', async (what, [, code]) => {
    await call('test.echo');
    const before = process.memoryUsage().rss;
    const end = await call(nameOf(what));
    expect(end).toMatchObject({ code: 'ok', output: [code] });
    expect(end.usage.egressBytes).toBeLessThan(17 * MIB);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB);
    for (const { peakBytes } of engines()) expect(peakBytes).toBeLessThan(300 * MIB);
    expect(await call('test.echo', { still: 'here' })).toMatchObject({ output: { still: 'here' } });
  });

  test('what is neither gets all of it', async () => {
    const { output } = await call('test.fine');
    const [length = 0] = output as number[];
    expect(length).toBeGreaterThan(PIECE.length);
    expect(length).toBeLessThan(PIECE.length + 1_000);
  });
});

test('a guest that asks again and again has its bytes once, over all of its requests', async () => {
  const { code, output, usage } = await call('test.again');
  expect([code, output]).toEqual(['ok', [4]]);
  expect(usage.egressBytes).toBeGreaterThan(4 * PIECE.length);
  expect(usage.egressBytes).toBeLessThan(300_000 + PIECE.length);
});

describe('a guest that asks with', () => {
  test('far too many headers sends none of them', async () => {
    expect((await call('test.says-much')).output).toEqual([TOO_LARGE]);
  });

  test('a URL that is far too long does not send it', async () => {
    expect((await call('test.long-url')).output).toEqual([TOO_LARGE]);
  });

  test('a body that is too large, or where none belongs, does not send it', async () => {
    const end = await call('test.large-body');
    expect(end).toMatchObject({ output: [TOO_LARGE, INVALID], usage: { egressBytes: 0 } });
  });
});
