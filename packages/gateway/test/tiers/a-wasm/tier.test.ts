import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import type { Tool } from '../../../src/core/tool.ts';
import { callTool, openTestGateway, PERMIT_ALL } from '../../fixture/gateway.ts';
import { ECHO, guest, packed, wasmTool } from './guests.ts';

async function open(...tools: readonly Tool[]) {
  const gateway = await openTestGateway({ policies: PERMIT_ALL, tools });
  const call = async (tool: string, input: Json = {}, tenant = 'default') =>
    (await callTool(gateway, tool, { input, tenant })).outcome;
  return { gateway, call };
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

describe('a module as a tool', () => {
  it('gets JSON and gives JSON, through the whole line', async () => {
    const { gateway, call } = await open(wasmTool('test.echo', guest(ECHO)));
    expect(await call('test.echo', { b: [1, 2], a: 'ü' })).toMatchObject({
      status: 'ok',
      output: { a: 'ü', b: [1, 2] },
    });
    const { receipt } = await callTool(gateway, 'test.echo', { input: {} });
    const { payload } = JSON.parse(receipt ?? '{}');
    const { execution, usage } = JSON.parse(Buffer.from(payload, 'base64').toString()).predicate;
    expect(execution).toMatchObject({
      tier: 'a',
      isolation: { boundary: 'engine process', 'engine.tier': 'c' },
    });
    expect(usage.fuel).toBeGreaterThan(0);
  });

  it('uses the same fuel for the same work every time', async () => {
    const { call } = await open(wasmTool('test.echo', guest(ECHO)));
    const runs = [await call('test.echo', { a: 1 }), await call('test.echo', { a: 1 })];
    expect(new Set(runs.map((run) => ('usage' in run ? run.usage.fuel : -1))).size).toBe(1);
  });

  it('that reports its own failure is told from one that broke', async () => {
    const error = JSON.stringify({ code: 'not-found', message: 'there is no such city' });
    const tool = guest(`(call $fail (i32.const 16) (i32.const ${error.length})) (i64.const 0)`, [error]);
    const { call } = await open(wasmTool('test.fails', tool), wasmTool('test.traps', guest('(unreachable)')));
    expect(await call('test.fails')).toMatchObject({
      code: 'tier/tool-error',
      message: expect.stringContaining('there is no such city" (not-found)'),
    });
    expect(await call('test.traps')).toMatchObject({ code: 'tier/trapped' });
  });

  it.each([
    ['loops for ever', '(loop $x (br $x)) (unreachable)', 'tier/out-of-fuel'],
    ['calls itself for ever', '(call $self) (unreachable)', 'tier/trapped'],
    ['returns a place outside of its memory', packed('(i32.const -16)', '(i32.const 8)'), 'tier/trapped'],
    ['returns what is no JSON', packed('(i32.const 0)', '(i32.const 4)'), 'tier/invalid-output'],
    ['returns more than it may', packed('(i32.const 0)', '(i32.const 2000000)'), 'tier/output-exceeded'],
    ['asks for a gigabyte', '(drop (memory.grow (i32.const 16384))) (unreachable)', 'tier/trapped'],
  ])('that %s costs one call', async (_name, body, code) => {
    const { call } = await open(wasmTool('test.bad', guest(body)), wasmTool('test.echo', guest(ECHO)));
    expect(await call('test.bad')).toMatchObject({ status: 'failed', code });
    expect(await call('test.echo', { still: 'here' })).toMatchObject({ output: { still: 'here' } });
  });

  it('whose bytes are not those of its digest does not run', async () => {
    const tool = wasmTool('test.swapped', guest(ECHO));
    const swapped = { ...tool, executor: { ...tool.executor } } as Tool & { executor: { program: object } };
    Object.assign(swapped.executor, {
      program: { ...swapped.executor.program, read: async () => guest('(unreachable)') },
    });
    const { call } = await open(swapped);
    expect(await call('test.swapped')).toMatchObject({ code: 'tier/invalid-module' });
  });

  it('that waits for what never comes is ended at its time, and the next one runs', async () => {
    const wait = guest('(call $print (call $channel_receive (i32.const 40000) (i32.const 60000)))');
    const listen = { channels: [{ name: 'news', publish: false, receive: true }] };
    const { call } = await open(
      wasmTool('test.waits', wait, listen, { wallMs: 300 }),
      wasmTool('test.echo', guest(ECHO)),
    );
    expect(await call('test.waits')).toMatchObject({ code: 'tier/timed-out' });
    expect(await call('test.echo')).toMatchObject({ status: 'ok' });
  });
});

describe('what a module was not granted', () => {
  it('is not there to be imported', async () => {
    const { call } = await open(wasmTool('test.wants', GET));
    expect(await call('test.wants')).toMatchObject({
      code: 'tier/invalid-module',
      message: expect.stringContaining('storage_get'),
    });
  });

  it.each([
    ['-1', -1],
    ['the handle of another kind', 10_000],
    ['one past the last', 30_001],
    ['2^31', -2_147_483_648],
    ['0', 0],
  ])('is denied to a forged handle: %s', async (_name, handle) => {
    const forged = guest(
      `(call $print (call $storage_get (i32.const ${handle}) (i32.const 16) (i32.const 7)))`,
      ['notes/a'],
    );
    const { call } = await open(wasmTool('test.forges', forged, NOTES), wasmTool('test.gets', GET, NOTES));
    expect(await call('test.forges')).toMatchObject({ output: -1 });
    // The very same question with the right handle is answered: there is nothing yet.
    expect(await call('test.gets')).toMatchObject({ output: -2 });
  });
});

describe('storage', () => {
  it('keeps what one call stores for the next call of the same skill and tenant, and for nobody else', async () => {
    const both = (id: string) => [
      { ...wasmTool(`${id}.put`, PUT, NOTES) },
      { ...wasmTool(`${id}.get`, GET, NOTES) },
    ];
    const sameSkill = both('test').map((tool) => {
      const { executor } = tool;
      if (executor.kind !== 'wasm') throw new Error('it is no module');
      return {
        ...tool,
        executor: { kind: 'wasm', program: { ...executor.program, skill: 'notes' } },
      } as Tool;
    });
    const { call } = await open(...sameSkill, ...both('other'));
    expect(await call('test.put', { canary: 'of default' })).toMatchObject({ output: 0 });
    expect(await call('test.get')).toMatchObject({ output: { canary: 'of default' } });
    expect(await call('other.get')).toMatchObject({ output: -2 });
    expect(await call('test.get', {}, 'acme')).toMatchObject({ output: -2 });
  });

  it.each(['../x', '/etc/p', 'a/../b', 'notes/../x', 'other/a', 'notes//a'])(
    'does not let the key %j out of its prefix',
    async (key) => {
      const put = guest(
        `(call $print (call $storage_put (i32.const 30000) (i32.const 16) (i32.const ${key.length})
          (local.get $at) (local.get $length) (f64.const -1)))`,
        [key],
      );
      const { call } = await open(wasmTool('test.climbs', put, NOTES), wasmTool('test.put', PUT, NOTES));
      const { output } = (await call('test.climbs')) as { output: number };
      expect([-1, -6]).toContain(output);
      expect(await call('test.put')).toMatchObject({ output: 0 });
    },
  );
});
