import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import type { Json } from '../../../src/core/json.ts';
import type { Tool } from '../../../src/core/tool.ts';
import { openGateway } from '../../../src/open.ts';
import { callTool, PERMIT_ALL } from '../../fixture/gateway.ts';
import { ECHO, guest, packed, wasmTool } from './guests.ts';

/** All tools of the file, in one gateway: each call has a guest of its own anyway. */
const tools: Tool[] = [];
const stateDir = mkdtempSync(join(tmpdir(), 'palisade-tier-'));
const standing: { gateway: Awaited<ReturnType<typeof openGateway>> | null } = { gateway: null };

beforeAll(async () => {
  mkdirSync(join(stateDir, 'policies'));
  writeFileSync(join(stateDir, 'policies', 'test.cedar'), PERMIT_ALL);
  standing.gateway = await openGateway({ stateDir, env: readEnvironment({}), version: '0.0.0', tools });
});
afterAll(async () => {
  await standing.gateway?.close();
  rmSync(stateDir, { recursive: true });
});

/** A tool of the gateway, to be named before the first test runs; gives its id. */
function offer(tool: Tool): string {
  tools.push(tool);
  return tool.id;
}

async function ended(tool: string, input: Json = {}, tenant = 'default') {
  if (standing.gateway === null) throw new Error('Cannot call: the gateway is not open');
  return callTool(standing.gateway, tool, { input, tenant });
}

async function call(tool: string, input: Json = {}, tenant = 'default') {
  return (await ended(tool, input, tenant)).outcome;
}

const PUT = guest(
  `(call $print (call $storage_put (i32.const 30000) (i32.const 16) (i32.const 7)
    (local.get $at) (local.get $length) (f64.const -1)))`,
  ['notes/a'],
);
const GET = guest(
  `(local.set $n (call $storage_get (i32.const 30000) (i32.const 16) (i32.const 7)))
   (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (call $print (local.get $n)))))
   (drop (call $result_read (i32.const 20000) (i32.const 4096)))
   ${packed('(i32.const 20008)', '(i32.sub (local.get $n) (i32.const 8))')}`,
  ['notes/a'],
);
const NOTES = { storage: [{ read: ['notes/'], write: ['notes/'] }] };

const ECHOES = offer(wasmTool('test.echo', guest(ECHO)));
const GETS = offer(wasmTool('test.gets', GET, NOTES));
const PUTS = offer(wasmTool('test.puts', PUT, NOTES));

describe('a module as a tool', () => {
  it('gets JSON and gives JSON, through the whole line', async () => {
    expect(await call(ECHOES, { b: [1, 2], a: 'ü' })).toMatchObject({
      status: 'ok',
      output: { a: 'ü', b: [1, 2] },
    });
    const { receipt } = await ended(ECHOES);
    const { payload } = JSON.parse(receipt ?? '{}');
    const { execution, usage } = JSON.parse(Buffer.from(payload, 'base64').toString()).predicate;
    expect(execution).toMatchObject({
      tier: 'a',
      isolation: { boundary: 'engine process', 'engine.tier': 'c' },
    });
    expect(usage.fuel).toBeGreaterThan(0);
  });

  it('uses the same fuel for the same work every time', async () => {
    const runs = [await call(ECHOES, { a: 1 }), await call(ECHOES, { a: 1 })];
    expect(new Set(runs.map((run) => ('usage' in run ? run.usage.fuel : -1))).size).toBe(1);
  });

  const error = JSON.stringify({ code: 'not-found', message: 'there is no such city' });
  const failing = guest(`(call $fail (i32.const 16) (i32.const ${error.length})) (i64.const 0)`, [error]);
  const fails = offer(wasmTool('test.fails', failing));
  const traps = offer(wasmTool('test.traps', guest('(unreachable)')));

  it('that reports its own failure is told from one that broke', async () => {
    expect(await call(fails)).toMatchObject({
      code: 'tier/tool-error',
      message: expect.stringContaining('there is no such city" (not-found)'),
    });
    expect(await call(traps)).toMatchObject({ code: 'tier/trapped' });
  });

  const costly = [
    ['loops for ever', '(loop $x (br $x)) (unreachable)', 'tier/out-of-fuel'],
    ['calls itself for ever', '(call $self) (unreachable)', 'tier/trapped'],
    ['returns a place outside of its memory', packed('(i32.const -16)', '(i32.const 8)'), 'tier/trapped'],
    ['returns what is no JSON', packed('(i32.const 0)', '(i32.const 4)'), 'tier/invalid-output'],
    ['returns more than it may', packed('(i32.const 0)', '(i32.const 2000000)'), 'tier/output-exceeded'],
    ['asks for a gigabyte', '(drop (memory.grow (i32.const 16384))) (unreachable)', 'tier/trapped'],
  ].map(
    ([name = '', body = '', code], at) =>
      [name, offer(wasmTool(`test.bad-${at}`, guest(body))), code] as const,
  );

  it.each(costly)('that %s costs one call', async (_name, bad, code) => {
    expect(await call(bad)).toMatchObject({ status: 'failed', code });
    expect(await call(ECHOES, { still: 'here' })).toMatchObject({ output: { still: 'here' } });
  });

  // Bytes that no other tool has: those that ran before under their digest are not read again.
  const sound = wasmTool('test.swapped', guest(`(drop (i32.const 77)) ${ECHO}`));
  const changed = { ...sound, executor: { ...sound.executor } } as Tool & { executor: { program: object } };
  Object.assign(changed.executor, {
    program: { ...changed.executor.program, read: async () => guest('(unreachable)') },
  });
  const swapped = offer(changed);

  it('whose bytes are not those of its digest does not run', async () => {
    expect(await call(swapped)).toMatchObject({ code: 'tier/invalid-module' });
  });

  const wait = guest('(call $print (call $channel_receive (i32.const 40000) (i32.const 60000)))');
  const listen = { channels: [{ name: 'news', publish: false, receive: true }] };
  const waits = offer(wasmTool('test.waits', wait, listen, { wallMs: 300 }));

  it('that waits for what never comes is ended at its time, and the next one runs', async () => {
    expect(await call(waits)).toMatchObject({ code: 'tier/timed-out' });
    expect(await call(ECHOES)).toMatchObject({ status: 'ok' });
  });
});

describe('what a module was not granted', () => {
  const wants = offer(wasmTool('test.wants', GET));

  it('is not there to be imported', async () => {
    expect(await call(wants)).toMatchObject({
      code: 'tier/invalid-module',
      message: expect.stringContaining('storage_get'),
    });
  });

  const forgers = [
    ['-1', -1],
    ['the handle of another kind', 10_000],
    ['one past the last', 30_001],
    ['2^31', -2_147_483_648],
    ['0', 0],
  ].map(([name, handle], at) => {
    const body = `(call $print (call $storage_get (i32.const ${handle}) (i32.const 16) (i32.const 7)))`;
    return [name, offer(wasmTool(`test.forges-${at}`, guest(body, ['notes/a']), NOTES))] as const;
  });

  it.each(forgers)('is denied to a forged handle: %s', async (_name, forges) => {
    expect(await call(forges)).toMatchObject({ output: -1 });
    // The very same question with the right handle is answered: there is nothing yet.
    expect(await call(GETS)).toMatchObject({ output: -2 });
  });
});

describe('storage', () => {
  const [puts, gets] = [wasmTool('notes.put', PUT, NOTES), wasmTool('notes.get', GET, NOTES)].map((tool) => {
    if (tool.executor.kind !== 'wasm') throw new Error('it is no module');
    return offer({
      ...tool,
      executor: { kind: 'wasm', program: { ...tool.executor.program, skill: 'notes' } },
    });
  }) as [string, string];

  it('keeps what one call stores for the next call of the same skill and tenant, and for nobody else', async () => {
    expect(await call(puts, { canary: 'of default' })).toMatchObject({ output: 0 });
    expect(await call(gets)).toMatchObject({ output: { canary: 'of default' } });
    expect(await call(GETS)).toMatchObject({ output: -2 });
    expect(await call(gets, {}, 'acme')).toMatchObject({ output: -2 });
  });

  const climbers = ['../x', '/etc/p', 'a/../b', 'notes/../x', 'other/a', 'notes//a'].map((key, at) => {
    const body = `(call $print (call $storage_put (i32.const 30000) (i32.const 16) (i32.const ${key.length})
      (local.get $at) (local.get $length) (f64.const -1)))`;
    return [key, offer(wasmTool(`test.climbs-${at}`, guest(body, [key]), NOTES))] as const;
  });

  it.each(climbers)('does not let the key %j out of its prefix', async (_key, climbs) => {
    const { output } = (await call(climbs)) as { output: number };
    expect([-1, -6]).toContain(output);
    expect(await call(PUTS)).toMatchObject({ output: 0 });
  });
});
