import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf, type Words } from '../fixtures/modules/guest.ts';
import { type ModuleGateway, type ModuleOptions, openModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest is inside a host call when its time is over: the call ends then, and its engine is free for others. */

const WALL_MS = 400;
const HOME = '127.0.0.1';

/** A port where somebody takes every connection and does with it what it is told, which is nothing at first. */
async function listener(onSocket: (socket: Socket) => void = () => undefined): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  }).listen(0, HOME);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as { port: number }).port;
}

const get =
  (url: string) =>
  ({ bytes }: Words) =>
    listOf(
      `(call $http_request (i32.const 10000) ${bytes(JSON.stringify({ url }))} (i32.const 0) (i32.const 0))`,
    );
const LISTEN = { channels: [{ name: 'news', publish: true, receive: true }] };
const RECEIVE = '(call $channel_receive (i32.const 40000) (i32.const 60000))';
/** Does most of what its fuel pays for, and then waits for what never comes. */
const WORKS_THEN_WAITS = `(local.set $n (i32.const 1000000))
  (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
  ${listOf(RECEIVE)}`;

async function open(
  tool: ReturnType<typeof moduleTool>,
  more: Partial<ModuleOptions> = {},
): Promise<ModuleGateway> {
  return openModules({ tools: [tool, moduleTool('test.echo', guest(ECHO))], ...more });
}

/** Waits of every kind: the tool, and how names are found. */
const WAITS: Readonly<
  Record<string, () => Promise<readonly [ReturnType<typeof moduleTool>, Partial<ModuleOptions>?]>>
> = {
  'for a message that nobody sends': async () => [
    moduleTool('test.waits', guest(listOf(RECEIVE)), { grants: LISTEN, limits: { wallMs: WALL_MS } }),
  ],
  'for a host that takes the connection and says nothing': async () => {
    const entry = `${HOME}:${await listener()}`;
    const grants = { http: [entry] };
    return [
      moduleTool('test.waits', guest(get(`http://${entry}/`)), { grants, limits: { wallMs: WALL_MS } }),
    ];
  },
  'for a body that comes a byte at a time': async () => {
    const port = await listener((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
      const timer = setInterval(() => socket.write('x'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    const entry = `${HOME}:${port}`;
    const grants = { http: [entry] };
    return [
      moduleTool('test.waits', guest(get(`http://${entry}/`)), { grants, limits: { wallMs: WALL_MS } }),
    ];
  },
  'for a name that is never found': async () => [
    moduleTool('test.waits', guest(get('http://slow.test/')), {
      grants: { http: ['slow.test'] },
      limits: { wallMs: WALL_MS },
    }),
    { lookup: () => new Promise(() => undefined) },
  ],
};

describe('a guest that waits', () => {
  test.each(Object.entries(WAITS))('%s is ended when its time is over', async (_what, make) => {
    const [tool, more] = await make();
    const { call, gateway } = await open(tool, more);
    expect(await call('test.echo', { before: 1 })).toMatchObject({ output: { before: 1 } });
    const before = engines().map(({ pid }) => pid);
    // More of them than there are engines, so that those must be freed that the first ones had.
    const ends = await Promise.all(
      Array.from({ length: 6 }, () => call('test.waits', {}, { timeoutMs: 4_000 })),
    );
    expect(new Set(ends.map(({ code }) => code))).toEqual(new Set(['tier/timed-out']));
    expect(await call('test.echo', { after: 1 })).toMatchObject({ output: { after: 1 } });
    expect(gateway.engines.census).toMatchObject({ busy: 0, waiting: 0 });
    const after = engines().map(({ pid }) => pid);
    expect(after.some((pid) => before.includes(pid))).toBe(false);
  });

  test('is ended when its caller does not want it any more, at once', async () => {
    const waits = moduleTool('test.waits', guest(listOf(RECEIVE)), { grants: LISTEN });
    const { call, gateway } = await open(waits);
    const stop = new AbortController();
    const ending = call('test.waits', {}, { signal: stop.signal });
    await expect.poll(() => gateway.engines.census.busy).toBe(1);
    stop.abort();
    expect(await ending).toMatchObject({ code: 'tier/cancelled' });
    expect(await call('test.echo', { after: 1 })).toMatchObject({ output: { after: 1 } });
  });

  test('for an engine is ended by its own time, and takes none from those who come after it', async () => {
    const waits = moduleTool('test.waits', guest(listOf(RECEIVE)), {
      grants: LISTEN,
      limits: { wallMs: 1_500 },
    });
    const { call, gateway } = await open(waits);
    const holders = [call('test.waits'), call('test.waits')];
    await expect.poll(() => gateway.engines.census.busy).toBe(2);
    expect(await call('test.echo', {}, { timeoutMs: 100 })).toMatchObject({
      code: 'tier/timed-out',
      isolation: { boundary: 'never started' },
      usage: { fuel: 0 },
    });
    await Promise.all(holders);
    expect(await call('test.echo', { after: 1 })).toMatchObject({ output: { after: 1 } });
  });

  test('gets what it waits for, when it comes in time', async () => {
    const receives = guest(`(call $body ${RECEIVE})`);
    const sends = guest(
      `${listOf('(call $channel_publish (i32.const 40000) (local.get $at) (local.get $length))')}`,
    );
    const { call, gateway } = await openModules({
      tools: [
        moduleTool('test.receives', receives, { grants: LISTEN }),
        moduleTool('test.sends', sends, { grants: LISTEN }),
      ],
    });
    const receiving = call('test.receives');
    await expect.poll(() => gateway.engines.census.busy).toBe(1);
    let isReceived = false;
    void receiving.then(() => {
      isReceived = true;
    });
    // A message reaches those who listen already, so it is sent until it was heard.
    while (!isReceived) expect((await call('test.sends', { news: 'good' })).output).toEqual([0]);
    expect(await receiving).toMatchObject({ code: 'ok', output: { news: 'good' } });
  });
});

test('a guest that computes and then waits for its end pays for what it computed', async () => {
  const tool = moduleTool('test.works', guest(WORKS_THEN_WAITS), {
    grants: LISTEN,
    limits: { wallMs: WALL_MS },
  });
  const { call } = await open(tool, {
    config: '[[budget]]\nname = "fuel"\nper = "tenant"\nwindow = "1d"\nfuel = 25000000\n',
  });
  const codes = [];
  for (let round = 0; round < 3; round++)
    codes.push((await call('test.works', {}, { timeoutMs: 4_000 })).code);
  expect(codes).toEqual(['tier/timed-out', 'tier/timed-out', 'budget/fuel-exhausted']);
});
