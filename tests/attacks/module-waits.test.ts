import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf, type Words } from '../fixtures/modules/guest.ts';
import { openModules, PATIENCE, sharedModules } from '../fixtures/modules/index.ts';
import { sharedServers } from '../fixtures/modules/servers.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* A guest is inside a host call when its time is over: the call ends then, and its engine is free for others. */

const WALL_MS = 1_500;
const LONG_FUEL = 5_000_000_000;
const NEWS = { channels: [{ name: 'news', publish: true, receive: true }] };
const RECEIVE = '(call $channel_receive (i32.const 40000) (i32.const 60000))';

function drip(socket: Socket): void {
  socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
  const timer = setInterval(() => socket.write('x'), 20);
  socket.on('close', () => clearInterval(timer));
}

const asks =
  (url: string) =>
  ({ bytes }: Words) =>
    listOf(
      `(call $http_request (i32.const 10000) ${bytes(JSON.stringify({ url }))} (i32.const 0) (i32.const 0))`,
    );
/** Does a good part of what its fuel pays for, and then waits for what never comes. */
const WORKS_THEN_WAITS = `(local.set $n (i32.const 500000))
  (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
  ${listOf(RECEIVE)}`;

const limits = { wallMs: WALL_MS };
const fetches = (id: string, host: string) =>
  moduleTool(id, guest(asks(`http://${host}/`)), { grants: { http: [host] }, limits });

const { raw } = sharedServers();
const { call, opened } = sharedModules(async () => ({
  lookup: () => new Promise(() => undefined),
  config: `[limits]\nfuel = ${LONG_FUEL}\n`,
  tools: [
    moduleTool('test.message', guest(listOf(RECEIVE)), { grants: NEWS, limits }),
    fetches('test.silent', (await raw(() => undefined)).at),
    fetches('test.drips', (await raw(drip)).at),
    fetches('test.unnamed', 'slow.test'),
    moduleTool('test.receives', guest(`(call $body ${RECEIVE})`), { grants: NEWS }),
    moduleTool(
      'test.sends',
      guest(listOf('(call $channel_publish (i32.const 40000) (local.get $at) (local.get $length))')),
      { grants: NEWS },
    ),
    moduleTool('test.computes', guest('(loop $again (br $again)) (unreachable)'), {
      limits: { fuel: LONG_FUEL, wallMs: 30_000 },
    }),
    moduleTool('test.echo', guest(ECHO)),
  ],
}));
const census = () => opened().gateway.engines.census;

/** A call that did begin, and the engines that there were before: a busy machine may take all of its time to prepare it. */
async function begun(tool: string) {
  for (;;) {
    expect(await call('test.echo', { before: 1 })).toMatchObject({ output: { before: 1 } });
    const before = engines().map(({ pid }) => pid);
    const end = await call(tool);
    if (end.isolation.boundary !== 'never started') return { before, end };
  }
}

describe('a guest that waits', () => {
  test.each([
    ['for a message that nobody sends', 'test.message'],
    ['for a host that takes the connection and says nothing', 'test.silent'],
    ['for a body that comes a byte at a time', 'test.drips'],
    ['for a name that is never found', 'test.unnamed'],
  ])('%s is ended when its time is over, with its engine, and another takes its place', async (_, tool) => {
    const { before, end } = await begun(tool);
    expect(end).toMatchObject({ code: 'tier/timed-out', isolation: { boundary: 'engine process' } });
    expect(await call('test.echo', { after: 1 })).toMatchObject({ output: { after: 1 } });
    const kept = () => engines().filter(({ pid }) => before.includes(pid)).length;
    await expect.poll(kept, PATIENCE).toBe(before.length - 1);
  });

  test('in every engine that there is leaves none of them taken', async () => {
    const ends = await Promise.all(Array.from({ length: 5 }, () => call('test.message')));
    expect(new Set(ends.map(({ code }) => code))).toEqual(new Set(['tier/timed-out']));
    await expect.poll(census, PATIENCE).toMatchObject({ busy: 0, waiting: 0 });
    expect(await call('test.echo', { after: 1 })).toMatchObject({ output: { after: 1 } });
  });

  test('for an engine is ended by its own time, before anything of it ran', async () => {
    const stop = new AbortController();
    const { size } = census();
    const holders = Array.from({ length: size }, () => call('test.computes', {}, { signal: stop.signal }));
    await expect.poll(() => census().busy, PATIENCE).toBe(size);
    expect(await call('test.echo', {}, { timeoutMs: 100 })).toMatchObject({
      ...{ code: 'tier/timed-out', isolation: { boundary: 'never started' }, usage: { fuel: 0 } },
    });
    stop.abort();
    await Promise.all(holders);
    expect(await call('test.echo', { after: 1 })).toMatchObject({ output: { after: 1 } });
  });

  test('in more engines than compute at once keeps nobody else waiting', async () => {
    const { size, most } = census();
    const stops = Array.from({ length: 2 * most }, () => new AbortController());
    const hostile = stops.map(({ signal }) => call('test.receives', {}, { tenant: 'hostile', signal }));
    // It has half of the engines at most; its other calls wait.
    await expect.poll(() => census().paused, PATIENCE).toBe(most / 2);
    expect(census()).toMatchObject({ busy: most / 2, waiting: 2 * most - most / 2 });
    expect(most / 2).toBeGreaterThan(size);
    for (const tenant of ['ada', 'grace', 'ada'])
      expect(await call('test.echo', { tenant }, { tenant })).toMatchObject({ output: { tenant } });
    expect(census()).toMatchObject({ busy: most / 2, waiting: 2 * most - most / 2 });
    for (const stop of stops) stop.abort();
    expect(new Set((await Promise.all(hostile)).map(({ code }) => code))).toEqual(
      new Set(['tier/cancelled']),
    );
    await expect.poll(census, PATIENCE).toMatchObject({ busy: 0, waiting: 0 });
  });

  test('is ended at once when its caller does not want it any more', async () => {
    const stop = new AbortController();
    const ending = call('test.receives', {}, { signal: stop.signal });
    await expect.poll(() => census().busy, PATIENCE).toBe(1);
    stop.abort();
    expect(await ending).toMatchObject({ code: 'tier/cancelled' });
    expect(await call('test.echo', { after: 1 })).toMatchObject({ output: { after: 1 } });
  });

  test('gets what it waits for when it comes in time', async () => {
    let isReceived = false;
    const receiving = call('test.receives').finally(() => {
      isReceived = true;
    });
    // A message reaches those who listen already, so it is sent until it was heard.
    while (!isReceived) expect((await call('test.sends', { news: 'good' })).output).toEqual([0]);
    expect(await receiving).toMatchObject({ code: 'ok', output: { news: 'good' } });
  });
});

test('a guest that computes and then waits for its end pays for what it computed', async () => {
  const { call: callHere } = await openModules({
    config: '[[budget]]\nname = "fuel"\nper = "tenant"\nwindow = "1d"\nfuel = 10000000\n',
    tools: [
      moduleTool('test.works', guest(WORKS_THEN_WAITS), { grants: NEWS, limits: { wallMs: 1_000 } }),
      moduleTool('test.echo', guest(ECHO)),
    ],
  });
  expect(await callHere('test.echo')).toMatchObject({ code: 'ok' });
  let end = await callHere('test.works');
  // A busy machine may take all of its time to prepare it.
  while (end.isolation.boundary === 'never started') end = await callHere('test.works');
  expect(end).toMatchObject({ code: 'tier/timed-out', isolation: { fuelIsExact: false } });
  expect(end.usage.fuel).toBeGreaterThan(9_000_000);
  expect(await callHere('test.works')).toMatchObject({ code: 'budget/fuel-exhausted' });
});
