import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import { hostFunction, hostTable } from '../../src/instance/host.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

/** Calls the host function `times` times. */
const GUEST = wat(`(module
  (import "host" "tick" (func $tick))
  (func (export "run") (param $times i32)
    (loop $again
      (call $tick)
      (br_if $again (local.tee $times (i32.sub (local.get $times) (i32.const 1)))))))`);

type Setup = { readonly fuel?: number; readonly blocks?: boolean; readonly msPerTick?: number };

async function ticking({ fuel = 1, blocks = false, msPerTick = 1 }: Setup = {}) {
  const clock = { ms: 0, looks: 0, ticks: 0 };
  const engine = createEngine({
    now: () => {
      clock.looks += 1;
      return clock.ms;
    },
  });
  const tick = () => {
    clock.ticks += 1;
    clock.ms += msPerTick;
    return undefined;
  };
  const row = hostFunction({
    module: 'host',
    name: 'tick',
    params: [],
    results: [],
    fuel,
    blocks,
    run: tick,
  });
  const hosts = hostTable([row]);
  const compiled = await engine.compile(GUEST, { hosts });
  return {
    clock,
    instance: engine.instantiate(compiled, { hosts }),
    pool: engine.pool(compiled, { size: 1, hosts }),
  };
}

describe('a deadline', () => {
  it('that has passed before the call runs nothing and retires nothing', async () => {
    const { clock, instance } = await ticking();
    clock.ms = 100;
    expect(refused(() => instance.call('run', [1], { deadline: 100 })).code).toBe('deadline');
    expect(clock.ticks).toBe(0);
    expect(instance.isRetired).toBe(false);
    expect(instance.call('run', [1], { deadline: 102 }).results).toEqual([]);
  });

  it('stops a guest at its host calls, soon after it passed, and retires the instance', async () => {
    const { clock, instance } = await ticking();
    const error = refused(() => instance.call('run', [100_000], { deadline: 1000 }));
    expect(error.code).toBe('deadline');
    expect(error.usage?.fuelUsed).toBeGreaterThan(0);
    expect(clock.ticks).toBeGreaterThanOrEqual(1000);
    expect(clock.ticks).toBeLessThan(1100);
    expect(refused(() => instance.call('run', [1])).code).toBe('retired');
  });

  it('does not read the clock on most crossings', async () => {
    const { clock, instance } = await ticking({ msPerTick: 0 });
    instance.call('run', [10_000], { deadline: 1 });
    expect(clock.looks).toBeLessThan(10_000 / 50);
  });

  it('is checked on each call of an expensive host function', async () => {
    const { clock, instance } = await ticking({ fuel: 5000, msPerTick: 400 });
    expect(refused(() => instance.call('run', [100], { deadline: 1000 })).code).toBe('deadline');
    expect(clock.ticks).toBe(3);
  });

  it('lets a guest reach nothing more after a host function that blocked past it', async () => {
    const clock = { ms: 0 };
    const engine = createEngine({ now: () => clock.ms });
    const reached: string[] = [];
    const row = { module: 'host', params: [], results: [], fuel: 1 } as const;
    const wait = () => {
      clock.ms += 400;
      return undefined;
    };
    const hosts = hostTable([
      hostFunction({ ...row, name: 'wait', blocks: true, run: wait }),
      hostFunction({ ...row, name: 'mark', run: () => void reached.push('mark') }),
    ]);
    const guest = wat(`(module (import "host" "wait" (func $wait)) (import "host" "mark" (func $mark))
      (func (export "run") (call $wait) (call $mark)))`);
    const instance = engine.instantiate(await engine.compile(guest, { hosts }), { hosts });
    instance.call('run', [], { deadline: 401 });
    expect(reached).toEqual(['mark']);
    expect(refused(() => instance.call('run', [], { deadline: 800 })).code).toBe('deadline');
    expect(reached).toEqual(['mark']);
  });

  it('that passed during the call makes a late result a failure', async () => {
    const { instance } = await ticking({ msPerTick: 400 });
    const error = refused(() => instance.call('run', [3], { deadline: 1000 }));
    expect(error.code).toBe('deadline');
    expect(instance.isRetired).toBe(true);
  });

  it('holds in a pool too, which serves the next run all the same', async () => {
    const { clock, pool } = await ticking({ msPerTick: 400 });
    expect(refused(() => pool.run('run', [3], { deadline: 1000 })).code).toBe('deadline');
    expect(pool.run('run', [1], { deadline: clock.ms + 500 }).results).toEqual([]);
  });

  it('never makes the clock run where there is none', async () => {
    const { clock, instance } = await ticking();
    instance.call('run', [10_000]);
    expect(clock.looks).toBe(0);
  });
});
