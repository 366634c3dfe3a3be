import { describe, expect, test } from 'vitest';
import { writeModule } from '../../fixture/wat.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch, palisade, useBuild } from './palisade.ts';

useBuild();
const scratch = makeScratch();

const GUEST = writeModule(
  scratch,
  'guest',
  `(module (memory (export "memory") 1) (global $calls (mut i32) (i32.const 0))
  (func (export "one") (result i32) (i32.const 1))
  (func (export "add") (param i32 i64 f32 f64) (result i64 f64)
    (i64.add (i64.extend_i32_s (local.get 0)) (local.get 1))
    (f64.add (f64.promote_f32 (local.get 2)) (local.get 3)))
  (func (export "forever") (param i32) (loop (br 0)))
  (func $deep (export "deep") (param i32) (call $deep (local.get 0)))
  (func (export "crash") (param i32) (unreachable))
  (func (export "divide") (param i32) (result i32) (i32.div_s (i32.const 1) (local.get 0)))
  (func (export "third") (param i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (if (i32.eq (global.get $calls) (i32.const 3)) (then unreachable)))
  (func (export "vector") (param v128)))`,
);

/** A clock that goes on by a little at each look, so that a bench of a second is over in a moment. */
function quickClock() {
  let ms = 0;
  return {
    nowMs: () => 0,
    monotonicMs: () => {
      ms += 1.5;
      return ms;
    },
  };
}

function bench(words: readonly string[], parts: { readonly signal?: AbortSignal } = {}) {
  return runInside(['wasm', 'bench', ...words, '--seconds', '1'], { clock: quickClock(), ...parts });
}

async function benchJson(...words: string[]) {
  const { status, out } = await bench([...words, '--json']);
  return { status, told: JSON.parse(out) };
}

describe('palisade wasm bench', () => {
  test('calls the only function without parameters and tells what it takes', async () => {
    const { status, told } = await benchJson(GUEST);
    expect(told).toMatchObject({
      file: GUEST,
      function: 'one() -> i32',
      fuel: { least: 2, most: 2, mean: 2 },
      startFuel: 0,
      peakMemoryBytes: 65_536,
      results: ['1'],
    });
    for (const spread of [told.rewriteMs, told.instanceMs, told.callMs]) {
      expect(spread.p10).toBeLessThanOrEqual(spread.median);
      expect(spread.median).toBeLessThanOrEqual(spread.p90);
      expect(spread.count).toBeGreaterThan(0);
    }
    expect(told.compileMs).toBeGreaterThan(0);
    expect(told.calls).toBeGreaterThan(100);
    expect(told.callsPerSecond).toBeCloseTo(1_000 / told.callMs.median);
    expect(status).toBe(0);
  });

  test('ends when the time is over, by the clock', async () => {
    const { told } = await benchJson(GUEST);
    // Two looks at the clock a batch of one call, 1.5 ms each, in a second.
    expect(told.calls).toBeGreaterThan(250);
    expect(told.calls).toBeLessThan(400);
  });

  test('hands over the arguments of --args, each of its type', async () => {
    const { told } = await benchJson(GUEST, '--export', 'add', '--args=-2,9007199254740993,0.5,1e3');
    expect(told.results).toEqual(['9007199254740991', '1000.5']);
  });

  test('says it to people as well', async () => {
    const { status, out } = await bench([GUEST]);
    expect(out).toMatch(/^rewrite .* MB\/s$/m);
    expect(out).toMatch(/^call .* \(.* to .*\), of \d+ calls$/m);
    expect(out).toMatch(/^fuel +2 a call; /m);
    expect(out).toMatch(/^memory +65536 bytes at most$/m);
    expect(status).toBe(0);
  });

  test('works in the built command', async () => {
    const { status, out } = await palisade(['wasm', 'bench', GUEST, '--seconds', '1', '--json']);
    expect(JSON.parse(out)).toMatchObject({ fuel: { mean: 2 } });
    expect(status).toBe(0);
  });

  test('needs no import that the engine makes itself', async () => {
    const path = writeModule(scratch, 'memory', '(module (import "env" "m" (memory 1)) (func (export "f")))');
    expect((await benchJson(path)).told).toMatchObject({ peakMemoryBytes: 65_536 });
  });

  test('stops at Ctrl-C', async () => {
    const { status, out } = await bench([GUEST, '--json'], { signal: AbortSignal.abort() });
    expect(JSON.parse(out)).toMatchObject({ code: 'tier/cancelled' });
    expect(status).toBe(1);
  });
});

describe('a guest that does not end well', () => {
  test.each([
    ['forever', 'wasm/out-of-fuel', 'fuel'],
    ['deep', 'wasm/trapped', 'stack'],
    ['crash', 'wasm/trapped', 'unreachable'],
  ])('in "%s" is told as %s (%s)', async (name, code, reason) => {
    const { status, told } = await benchJson(GUEST, '--export', name, '--args', '1');
    expect(told).toMatchObject({ status: 'failed', code, reason, usage: { fuelUsed: expect.any(Number) } });
    expect(status).toBe(1);
  });

  test('by a division by zero is told as such', async () => {
    const { told } = await benchJson(GUEST, '--export', 'divide', '--args', '0');
    expect(told).toMatchObject({ code: 'wasm/trapped', reason: 'arithmetic' });
  });

  test('after some calls is told with their number', async () => {
    const { told } = await benchJson(GUEST, '--export', 'third', '--args', '1');
    expect(told).toMatchObject({ reason: 'unreachable' });
    expect(told.message).toMatch(/after 2 successful calls$/);
  });

  test('uses the fuel of --fuel and no more', async () => {
    const { told } = await benchJson(GUEST, '--export', 'forever', '--args', '1', '--fuel', '12345');
    expect(told.usage.fuelUsed).toBe(12_345);
  });

  test('in its start function is stopped, too', async () => {
    const path = writeModule(
      scratch,
      'start',
      '(module (func $s (loop (br 0))) (start $s) (func (export "f")))',
    );
    expect((await benchJson(path)).told).toMatchObject({ code: 'wasm/out-of-fuel' });
  });
});

describe('palisade wasm bench refuses', () => {
  test('a module that imports functions, and names each', async () => {
    const path = writeModule(
      scratch,
      'imports',
      '(module (import "env" "say" (func (param i32))) (import "env" "now" (func (result i64))) (func (export "f")))',
    );
    const { status, told } = await benchJson(path);
    expect(told).toMatchObject({ code: 'wasm/link', reason: 'link', detail: 'env.say' });
    expect(told.message).toContain('env.say (i32) -> (), env.now () -> i64');
    expect(status).toBe(2);
  });

  test.each([
    ['a function that is not there', ['--export', 'two'], 'expected one of: one() -> i32, add('],
    ['a call without arguments', ['--export', 'divide'], '--args is missing, expected one for each of i32'],
    [
      'too many arguments',
      ['--export', 'divide', '--args', '1,2'],
      '--args has 2, expected one for each of i32',
    ],
    [
      'an argument that is no number',
      ['--export', 'divide', '--args', '1x'],
      '"1x": expected a number for i32',
    ],
    ['an i32 that is none', ['--export', 'divide', '--args', '5000000000'], 'argument 0 is 5000000000'],
    ['a vector', ['--export', 'vector', '--args', '1'], 'a v128 cannot be passed to or from the host'],
    ['a run without fuel', ['--fuel', '0'], 'expected a whole number from 1'],
    ['fuel for hours', ['--fuel', '10000000001'], 'to 10000000000'],
  ])('%s as wrong usage', async (_, words, why) => {
    const { status, err } = await bench([GUEST, ...words]);
    expect(err).toContain(why);
    expect(status).toBe(64);
  });

  test('to choose between functions', async () => {
    const path = writeModule(scratch, 'two', '(module (func (export "a")) (func (export "b")))');
    const { status, err } = await bench([path]);
    expect(err).toContain(
      'several are without parameters, expected --export NAME with one of: a() -> (), b() -> ()',
    );
    expect(status).toBe(64);
  });
});
