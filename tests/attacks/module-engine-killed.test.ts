import { describe, expect, test } from 'vitest';
import { kindsOf } from '../../packages/gateway/test/fixture/gateway.ts';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf, type Words } from '../fixtures/modules/guest.ts';
import { PATIENCE, sharedModules } from '../fixtures/modules/index.ts';
import { sharedServers } from '../fixtures/modules/servers.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

/* The engine process is gone in the middle of a call: nobody knows how the call ended, and nobody does it again. */

const NOTES = { storage: [{ read: ['notes/'], write: ['notes/'] }] };
const LONG = { fuel: 5_000_000_000, wallMs: 30_000 };

/** Stores a number, which grows by one with each run, and then works for long. */
const counting = (rest: string) => (words: Words) =>
  `(drop (call $storage_put (i32.const 30000) ${words.bytes('notes/once')} ${words.bytes('1')} (f64.const 0)))
   (drop (call $storage_put (i32.const 30000) ${words.bytes('notes/once')} ${words.bytes('1')} (f64.const -1)))
   ${rest}`;
const VERSION = guest(
  ({ bytes }) =>
    `(local.set $n (call $storage_get (i32.const 30000) ${bytes('notes/once')}))
     (if (i32.lt_s (local.get $n) (i32.const 0)) (then (call $say (local.get $n)) (return (call $said))))
     (call $fetch (local.get $n))
     (call $say (i32.trunc_f64_u (f64.load (i32.const 262144)))) (call $said)`,
);

const { http } = sharedServers();
const held: { release: () => void; count: number } = { release: () => undefined, count: 0 };
const { call, opened } = sharedModules(async () => {
  const slow = await http((_, response) => {
    held.count += 1;
    held.release = () => void response.end('late');
  });
  const request = ({ bytes }: Words) =>
    listOf(
      `(call $http_request (i32.const 10000) ${bytes(JSON.stringify({ url: `http://${slow.at}/`, method: 'POST' }))} (i32.const 0) (i32.const 0))`,
    );
  return {
    config: `[limits]\nfuel = ${LONG.fuel}\n`,
    tools: [
      moduleTool('test.works', guest(counting('(loop $again (br $again)) (unreachable)')), {
        ...{ grants: NOTES, skill: 'counts', limits: LONG },
      }),
      moduleTool(
        'test.asks',
        guest((words) => counting(request(words))(words)),
        {
          ...{ grants: { ...NOTES, http: [slow.at] }, skill: 'counts', limits: LONG },
        },
      ),
      moduleTool('test.version', VERSION, { grants: NOTES, skill: 'counts' }),
      moduleTool('test.echo', guest(ECHO)),
    ],
  };
});

const version = async (tenant: string) =>
  ((await call('test.version', {}, { tenant })).output as number[])[0];

/** Kills all engines, and waits until they are gone. */
async function killEngines(): Promise<void> {
  const found = engines();
  expect(found.length).toBeGreaterThan(0);
  for (const engine of found) engine.kill();
  await expect
    .poll(() => engines().filter(({ pid }) => found.some((each) => each.pid === pid)), PATIENCE)
    .toEqual([]);
}

describe('a call whose engine is killed', () => {
  test('while its guest computes has an unknown end; what it did stays done, once, and the next call runs', async () => {
    const running = call('test.works', {}, { tenant: 'alice' });
    await expect.poll(() => version('alice'), PATIENCE).toBe(2);
    await killEngines();
    const end = await running;
    expect(end).toMatchObject({ code: 'tier/unknown-ending', output: null });
    expect(end.message).toContain('the engine process is gone');
    expect(end.usage.fuel).toBe(LONG.fuel);
    expect(kindsOf(opened().gateway, end.callId)).toEqual(['intent', 'ended']);
    expect(await call('test.echo', { still: 'here' })).toMatchObject({
      code: 'ok',
      output: { still: 'here' },
    });
    // It was not tried again, not even later.
    expect(await version('alice')).toBe(2);
  });

  test('while the gateway asks for it has an unknown end; nobody is asked a second time', async () => {
    const running = call('test.asks', {}, { tenant: 'bob' });
    await expect.poll(() => held.count, PATIENCE).toBe(1);
    await killEngines();
    const end = await running;
    expect(end).toMatchObject({ code: 'tier/unknown-ending', output: null });
    // The receipt says what nobody can tell, and the journal where it went.
    expect(end.isolation).toMatchObject({
      ...{ interrupted: 'http_request', interruptedFate: 'unknown' },
      ...{ egressRequests: 1, egressCut: 1, recording: 'none' },
    });
    expect(end.usage.egressBytes).toBeGreaterThan(0);
    held.release();
    expect(await call('test.echo', { still: 'here' })).toMatchObject({
      code: 'ok',
      output: { still: 'here' },
    });
    expect(await version('bob')).toBe(2);
    expect(held.count).toBe(1);
  });

  test('while the gateway stores for it says whether that was done, and what was stored is there once', async () => {
    const { store } = opened().gateway;
    const commit = store.commit.bind(store);
    const stored: { go: () => void } = { go: () => undefined };
    const reached = new Promise<void>((resolve) => {
      // The fourth is the write of the guest: the first keeps the policies' answer, then come the intent and what it stored before.
      let count = 0;
      store.commit = (work) => {
        count += 1;
        if (count !== 4) return commit(work);
        resolve();
        return new Promise((done) => {
          stored.go = () => done(commit(work) as never);
        });
      };
    });
    const running = call('test.asks', {}, { tenant: 'carol' });
    await reached;
    await killEngines();
    // The gateway hears of it when the pipe is closed, a moment after the process is gone.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    store.commit = commit;
    stored.go();
    const end = await running;
    expect(end).toMatchObject({ code: 'tier/unknown-ending', output: null });
    expect(end.isolation).toMatchObject({ interrupted: 'storage_put', interruptedFate: 'done' });
    // It is there, once: nobody asks for what comes after it, and nobody begins anew.
    expect(await version('carol')).toBe(2);
    expect(held.count).toBe(1);
  });

  test('before it began, with many others, is one of few: those that wait are served by new engines', async () => {
    await call('test.echo');
    const calls = Array.from({ length: 60 }, (_, index) =>
      call('test.echo', { index }, { tenant: `t${index % 2}` }),
    );
    await expect.poll(() => opened().gateway.engines.census.busy, PATIENCE).toBeGreaterThan(0);
    for (const engine of engines()) engine.kill();
    const ends = await Promise.all(calls);
    const { size } = opened().gateway.engines.census;
    const lost = (code: string) => ends.filter((end) => end.code === code).length;
    expect(lost('tier/unknown-ending')).toBeLessThanOrEqual(size);
    // One that was killed before it was ready has begun nothing.
    expect(lost('tier/not-started')).toBeLessThanOrEqual(size);
    expect(lost('ok')).toBe(60 - lost('tier/unknown-ending') - lost('tier/not-started'));
    for (const [index, { code, output }] of ends.entries())
      if (code === 'ok') expect(output).toEqual({ index });
  });
});

test('an engine outlives the calls that end well', async () => {
  await call('test.echo');
  const before = engines().map(({ pid }) => pid);
  for (let round = 0; round < 5; round++)
    expect(await call('test.echo', { round })).toMatchObject({ code: 'ok', output: { round } });
  expect(before.length).toBeGreaterThan(0);
  expect(engines().map(({ pid }) => pid)).toEqual(before);
});
