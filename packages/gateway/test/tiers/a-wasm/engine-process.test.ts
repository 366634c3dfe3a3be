import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type CallListeners,
  type EngineEnd,
  EngineProcess,
  type GuestRequest,
} from '../../../src/tiers/a-wasm/engine-process.ts';
import { wat } from '../../fixture/wat.ts';
import { engineStart, formOf, sampleHead } from './sample-engine.ts';

const ALLOC = `(memory (export "memory") 1 8)
  (func (export "palisade_alloc") (param i32) (result i32) (i32.const 4096))`;
const pack = (at: string, length: string) =>
  `(i64.or (i64.shl (i64.extend_i32_u ${at}) (i64.const 32)) (i64.extend_i32_u ${length}))`;
const tool = (body: string, imports = '') =>
  wat(`(module ${imports} ${ALLOC}
    (func (export "tool") (param $at i32) (param $length i32) (result i64) (local $n i32) ${body}))`);

const ECHO = tool(pack('(local.get $at)', '(local.get $length)'));
const LOOP = tool('(loop $again (br $again)) (unreachable)');
const ASKS = tool(
  `(local.set $n (call $get (i32.const 30000) (local.get $at) (local.get $length)))
   (if (i32.lt_s (local.get $n) (i32.const 0)) (then (unreachable)))
   (drop (call $read (i32.const 8192) (i32.const 1000)))
   ${pack('(i32.const 8192)', '(local.get $n)')}`,
  `(import "palisade_v1" "storage_get" (func $get (param i32 i32 i32) (result i32)))
   (import "palisade_v1" "result_read" (func $read (param i32 i32) (result i32)))`,
);

const DEAF: CallListeners = {
  onRequest: async () => ({ result: -1 }),
  onLog: () => undefined,
};
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const module = async (bytes: Uint8Array, key = 'module-1') => ({ key, form: await formOf(bytes) });

async function started(tier: 'b' | 'c' = 'c'): Promise<EngineProcess> {
  const ends = await engineStart(tier)();
  const engine = new EngineProcess(ends);
  onTestFinished(() => {
    engine.end('the test is over');
    return ends.ended;
  });
  expect(await engine.ready).toBe(true);
  return engine;
}

function outputOf(end: EngineEnd): string {
  if (end.kind !== 'done') throw new Error(`it is gone: ${end.why}`);
  return `${end.head.ending} ${text(end.bytes)}`;
}

describe.each(['b', 'c'] as const)('an engine in tier %s', (tier) => {
  it('runs calls one after the other, and says what held it', async () => {
    const engine = await started(tier);
    for (const input of ['{"a":1}', '[]', '"ü"']) {
      const call = { module: await module(ECHO), head: sampleHead(), input: Buffer.from(input) };
      expect(outputOf(await engine.run(call, DEAF))).toBe(`returned ${input}`);
    }
    expect(engine.isolation).toMatchObject({ tier });
  });
});

describe('an engine', () => {
  it('asks the gateway for what its guest wants, with the words of the guest', async () => {
    const engine = await started();
    const requested: GuestRequest[] = [];
    const onRequest = async (question: GuestRequest) => {
      requested.push(question);
      return { result: 5, bytes: Buffer.from('value') };
    };
    const head = sampleHead({ functions: ['storage_get', 'result_read'] });
    const end = await engine.run(
      { module: await module(ASKS), head, input: Buffer.from('key') },
      { ...DEAF, onRequest },
    );
    expect(outputOf(end)).toBe('returned value');
    expect(requested.map((each) => [each.head, text(each.bytes)])).toEqual([
      [{ name: 'storage_get', numbers: [30_000], lengths: [3] }, 'key'],
    ]);
  });

  it('does not have what was not granted: the module cannot be linked', async () => {
    const engine = await started();
    const head = sampleHead({ functions: ['result_read'] });
    const end = await engine.run({ module: await module(ASKS), head, input: Buffer.from('key') }, DEAF);
    expect(end).toMatchObject({ kind: 'done', head: { ending: 'trapped', code: 'link' } });
  });

  it('ends an endless loop by its fuel, and goes on', async () => {
    const engine = await started();
    const head = sampleHead({ limits: { ...sampleHead().limits, fuel: 1_000_000 } });
    const end = await engine.run({ module: await module(LOOP), head, input: Buffer.from('') }, DEAF);
    expect(end).toMatchObject({ head: { ending: 'trapped', code: 'fuel', fuelUsed: 1_000_000 } });
    const next = {
      module: await module(ECHO, 'module-2'),
      head: sampleHead({ key: 'module-2' }),
      input: Buffer.from('1'),
    };
    expect(outputOf(await engine.run(next, DEAF))).toBe('returned 1');
  });

  it('ends a guest that asks for ever by its fuel, after as many questions as that pays for', async () => {
    const asksOn = tool(
      `(loop $again (drop (call $get (i32.const 30000) (local.get $at) (local.get $length))) (br $again))
       (unreachable)`,
      '(import "palisade_v1" "storage_get" (func $get (param i32 i32 i32) (result i32)))',
    );
    const engine = await started();
    let requested = 0;
    const onRequest = async () => {
      requested += 1;
      return { result: -1 };
    };
    const limits = { ...sampleHead().limits, fuel: 100_000 };
    const head = sampleHead({ functions: ['storage_get'], limits });
    const end = await engine.run(
      { module: await module(asksOn), head, input: Buffer.from('key') },
      { ...DEAF, onRequest },
    );
    expect(end).toMatchObject({ kind: 'done', head: { ending: 'trapped', code: 'fuel' } });
    expect(requested).toBe(49);
  });

  it('that is ended while its guest waits for an answer is gone, with its files', async () => {
    const ends = await engineStart('c')();
    const engine = new EngineProcess(ends);
    await engine.ready;
    const head = sampleHead({ functions: ['storage_get', 'result_read'] });
    const running = engine.run(
      { module: await module(ASKS), head, input: Buffer.from('key') },
      { ...DEAF, onRequest: () => new Promise(() => undefined) },
    );
    engine.end('it took too long');
    expect(await running).toEqual({ kind: 'gone', why: 'it took too long' });
    await ends.ended;
    expect(engine.isGone).toBe(true);
  });

  it('gives random bytes that come from the seed of the call, and the time when it began', async () => {
    const random = tool(
      `(call $random (i32.const 8192) (i32.const 8)) (f64.store (i32.const 8200) (call $clock))
       ${pack('(i32.const 8192)', '(i32.const 16)')}`,
      `(import "palisade_v1" "random" (func $random (param i32 i32)))
       (import "palisade_v1" "clock_ms" (func $clock (result f64)))`,
    );
    const engine = await started();
    const run = async (seed: string) => {
      const head = sampleHead({ functions: ['random', 'clock_ms'], seed });
      const end = await engine.run({ module: await module(random), head, input: Buffer.from('') }, DEAF);
      if (end.kind !== 'done') throw new Error(end.why);
      return Buffer.from(end.bytes);
    };
    const [first, again, other] = [
      await run('11'.repeat(32)),
      await run('11'.repeat(32)),
      await run('22'.repeat(32)),
    ];
    expect(first).toEqual(again);
    expect(first.subarray(0, 8)).not.toEqual(other.subarray(0, 8));
    expect(first.readDoubleLE(8)).toBe(1_700_000_000_000);
  });

  it('sees no file, no network and no variable of the host', async () => {
    // The engine is our own code; what is asked here is what a guest that broke out of it would find.
    const ends = await engineStart('c')();
    expect(ends.isolation).toMatchObject({ tier: 'c', boundary: 'bubblewrap' });
    ends.kill();
    await ends.ended;
    expect(existsSync('/.palisade')).toBe(false);
  });
});
