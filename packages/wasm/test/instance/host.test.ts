import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { WasmError } from '../../src/error.ts';
import { createEngine } from '../../src/instance/engine.ts';
import type { Guest } from '../../src/instance/guest.ts';
import { type HostFunction, hostFunction, hostTable } from '../../src/instance/host.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

const PAGE = 65_536;
const engine = createEngine();
const SPINNING = await engine.compile(wat('(module (func (export "run") (loop $again (br $again))))'));

/** A guest with two pages whose `run` hands its two arguments to the host function and returns what that returns. */
const ASKING = wat(`(module
  (import "host" "ask" (func $ask (param i32 i32) (result i32)))
  (memory (export "memory") 2 8)
  (data (i32.const 16) "caf\\c3\\a9")
  (data (i32.const 64) "\\ff\\fe")
  (func (export "run") (param i32 i32) (result i32) (call $ask (local.get 0) (local.get 1)))
  (func (export "grow") (param i32 i32) (result i32)
    (drop (memory.grow (i32.const 1)))
    (call $ask (local.get 0) (local.get 1)))
  (func (export "at") (param i32) (result i32) (i32.load8_u (local.get 0))))`);

/** How a call of another guest ended. */
const FOREIGN = refused(() => engine.instantiate(SPINNING).call('run'));

type Ask = (guest: Guest, a: number, b: number) => number;

function askRow(run: Ask, fuel = 10): HostFunction {
  return hostFunction({ module: 'host', name: 'ask', params: ['i32', 'i32'], results: ['i32'], fuel, run });
}

async function asking(run: Ask, fuel?: number) {
  const hosts = hostTable([askRow(run, fuel)]);
  return engine.instantiate(await engine.compile(ASKING, { hosts }), { hosts });
}

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Every trap of it throws. */
function defiantProxy(): unknown {
  const refuse = () => {
    throw new Error('no');
  };
  return new Proxy({}, new Proxy({}, { get: () => refuse }));
}

describe('a host function', () => {
  it('gets the numbers that the guest passed, and the guest gets its result', async () => {
    const instance = await asking((_guest, a, b) => a * 100 + b);
    expect(instance.call('run', [3, 4]).results).toEqual([304]);
    instance.release();
  });

  it('gets every type and any number of parameters', async () => {
    const seen: unknown[] = [];
    const hosts = hostTable([
      hostFunction({
        module: 'host',
        name: 'many',
        params: ['i32', 'i64', 'f32', 'f64', 'i32', 'i64'],
        results: ['i64', 'f64'],
        fuel: 1,
        run(_guest, ...values) {
          seen.push(...values);
          return [values[1] + values[5], values[3]] as const;
        },
      }),
      hostFunction({
        module: 'host',
        name: 'none',
        params: [],
        results: [],
        fuel: 1,
        run: () => void seen.push('none'),
      }),
      hostFunction({
        module: 'host',
        name: 'one',
        params: ['i64'],
        results: ['i64'],
        fuel: 1,
        run: (_, a) => a + 1n,
      }),
      hostFunction({
        module: 'host',
        name: 'three',
        params: ['i32', 'i32', 'i32'],
        results: ['i32'],
        fuel: 1,
        run: (_, a, b, c) => a + b + c,
      }),
      hostFunction({
        module: 'host',
        name: 'four',
        params: ['i32', 'i32', 'i32', 'i32'],
        results: ['i32'],
        fuel: 1,
        run: (_, a, b, c, d) => a + b + c + d,
      }),
    ]);
    const guest = wat(`(module
      (import "host" "many" (func $many (param i32 i64 f32 f64 i32 i64) (result i64 f64)))
      (import "host" "none" (func $none))
      (import "host" "one" (func $one (param i64) (result i64)))
      (import "host" "three" (func $three (param i32 i32 i32) (result i32)))
      (import "host" "four" (func $four (param i32 i32 i32 i32) (result i32)))
      (func (export "run") (result i64 f64 i64 i32 i32)
        (call $none)
        (call $many (i32.const -1) (i64.const 2) (f32.const 1.5) (f64.const 2.5) (i32.const 3) (i64.const 4))
        (call $one (i64.const 41))
        (call $three (i32.const 1) (i32.const 2) (i32.const 3))
        (call $four (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4))))`);
    const instance = engine.instantiate(await engine.compile(guest, { hosts }), { hosts });
    expect(instance.call('run').results).toEqual([6n, 2.5, 42n, 6, 10]);
    expect(seen).toEqual(['none', -1, 2n, 1.5, 2.5, 3, 4n]);
    instance.release();
  });

  it('costs its fuel on each call', async () => {
    const cheap = await asking((_guest, a) => a, 0);
    const dear = await asking((_guest, a) => a, 1000);
    const difference = dear.call('run', [1, 2]).fuelUsed - cheap.call('run', [1, 2]).fuelUsed;
    expect(difference).toBe(1000);
    cheap.release();
    dear.release();
  });

  it('costs its fuel also when the guest calls it through a table', async () => {
    const guest = wat(`(module
      (import "host" "ask" (func $ask (param i32 i32) (result i32)))
      (type $ask (func (param i32 i32) (result i32)))
      (table 1 funcref) (elem (i32.const 0) $ask)
      (func (export "run") (param i32 i32) (result i32)
        (call_indirect (type $ask) (local.get 0) (local.get 1) (i32.const 0))))`);
    const used = [0, 1000].map(async (fuel) => {
      const hosts = hostTable([askRow((_guest, a) => a, fuel)]);
      const instance = engine.instantiate(await engine.compile(guest, { hosts }), { hosts });
      const { fuelUsed } = instance.call('run', [1, 2]);
      const error = refused(() => instance.call('run', [1, 2], { fuel: fuelUsed - 1 }));
      expect(error.code).toBe('fuel');
      instance.release();
      return fuelUsed;
    });
    const [without = 0, with1000 = 0] = await Promise.all(used);
    expect(with1000 - without).toBe(1000);
  });

  it('costs its fuel also when the guest exports it or starts with it', async () => {
    let calls = 0;
    const count = () => {
      calls += 1;
      return undefined;
    };
    const hosts = hostTable([
      hostFunction({ module: 'host', name: 'count', params: [], results: [], fuel: 1000, run: count }),
    ]);
    const guest = wat(
      '(module (import "host" "count" (func $count)) (export "again" (func $count)) (start $count))',
    );
    const compiled = await engine.compile(guest, { hosts });
    const instance = engine.instantiate(compiled, { hosts });
    expect([instance.startUsage.fuelUsed, instance.call('again').fuelUsed, calls]).toEqual([1000, 1000, 2]);
    expect(refused(() => instance.call('again', [], { fuel: 999 })).code).toBe('fuel');
    expect(refused(() => engine.instantiate(compiled, { hosts, fuel: 999 })).code).toBe('fuel');
    expect(calls).toBe(2);
    const pool = engine.pool(compiled, { size: 1, hosts });
    expect(pool.run('again').fuelUsed).toBe(2000);
    pool.close();
    instance.release();
  });

  it('is not reached by a guest that cannot pay for it', async () => {
    let calls = 0;
    const instance = await asking(() => {
      calls += 1;
      return 0;
    }, 5000);
    expect(refused(() => instance.call('run', [1, 2], { fuel: 4999 })).code).toBe('fuel');
    expect(calls).toBe(0);
    instance.release();
  });

  it('that throws ends the call as host, with what it threw as the cause and not in the message', async () => {
    const fault = new Error('the password is swordfish');
    const instance = await asking(() => {
      throw fault;
    });
    const error = refused(() => instance.call('run', [1, 2]));
    expect(error.code).toBe('host');
    expect(error.cause).toBe(fault);
    expect(error.message).not.toContain('swordfish');
    expect(error.usage?.fuelUsed).toBeGreaterThan(0);
    expect(refused(() => instance.call('run', [1, 2])).code).toBe('retired');
    instance.release();
  });

  it.each([
    ['undefined', () => undefined],
    ['a WasmError of another call', () => FOREIGN],
    ['a proxy that was revoked', revokedProxy],
    ['a proxy that throws at every question', defiantProxy],
  ])('that throws %s ends the call as host all the same', async (_what, make) => {
    const thrown: unknown = make();
    const instance = await asking(() => {
      throw thrown;
    });
    const error = refused(() => instance.call('run', [1, 2]));
    // Not `toBe`: to show a difference it would ask the proxy.
    expect([error.code, error.cause === thrown]).toEqual(['host', true]);
    expect(refused(() => instance.call('run', [1, 2])).code).toBe('retired');
    instance.release();
  });

  it.each([
    ['revoked', revokedProxy],
    ['defiant', defiantProxy],
  ])('that returns a %s proxy ends the call as host', async (_what, make) => {
    const instance = await asking(() => make() as number);
    expect(refused(() => instance.call('run', [1, 2])).code).toBe('host');
    instance.release();
  });

  it.each([
    ['a promise', Promise.resolve(1)],
    ['nothing', undefined],
    ['null', null],
    ['text', '1'],
    ['an object that turns into a number', { valueOf: (): number => 1 }],
    ['a bigint', 1n],
    ['a list', [1]],
  ])('that returns %s ends the call as host', async (_what, result) => {
    const instance = await asking(() => result as number);
    const error = refused(() => instance.call('run', [1, 2]));
    expect(error.code).toBe('host');
    expect(error.cause).toBeInstanceOf(TypeError);
    instance.release();
  });

  it('without results that returns a promise ends the call as host', async () => {
    const later = (async () => {}) as unknown as () => undefined;
    const hosts = hostTable([
      hostFunction({ module: 'host', name: 'tell', params: [], results: [], fuel: 1, run: later }),
    ]);
    const guest = wat('(module (import "host" "tell" (func $tell)) (func (export "run") (call $tell)))');
    const instance = engine.instantiate(await engine.compile(guest, { hosts }), { hosts });
    const error = refused(() => instance.call('run'));
    expect(error.code).toBe('host');
    expect(String(error.cause)).toContain('promise');
    instance.release();
  });

  it('sees the context of its call, and none of an earlier one', async () => {
    const seen: unknown[] = [];
    const instance = await asking((guest) => {
      seen.push(guest.context);
      return 0;
    });
    instance.call('run', [1, 2], { context: 'alice' });
    instance.call('run', [1, 2]);
    expect(seen).toEqual(['alice', undefined]);
    instance.release();
  });

  it('cannot call back into the instance that called it', async () => {
    const instance = await asking((): number => {
      expect(refused(() => instance.call('at', [0])).code).toBe('export');
      return 7;
    });
    expect(instance.call('run', [1, 2]).results).toEqual([7]);
    instance.release();
  });

  it('that releases the running instance frees it when the call has ended', async () => {
    const before = engine.occupancy();
    const instance = await asking((guest): number => {
      instance.release();
      expect(engine.occupancy().instances).toBe(before.instances + 1);
      return guest.bytes(16, 1)[0] ?? 0;
    });
    expect(instance.call('run', [1, 2]).results).toEqual([99]);
    expect(engine.occupancy()).toEqual(before);
    expect(refused(() => instance.call('run', [1, 2])).code).toBe('retired');
  });
});

describe('guest.bytes()', () => {
  it('shows the memory itself', async () => {
    const instance = await asking((guest, pointer, length) => {
      guest.bytes(pointer, length).fill(7);
      return 0;
    });
    instance.call('run', [100, 2]);
    expect([99, 100, 101, 102].map((at) => instance.call('at', [at]).results[0])).toEqual([0, 7, 7, 0]);
    instance.release();
  });

  it('shows the memory as it is after it has grown', async () => {
    const instance = await asking((guest, pointer, length) => guest.bytes(pointer, length).length);
    expect(instance.call('grow', [2 * PAGE, PAGE]).results).toEqual([PAGE]);
    instance.release();
  });

  it.each([
    ['past the end', 2 * PAGE, 1],
    ['across the end', 2 * PAGE - 1, 2],
    ['of a length as large as 32 bits go', 0, -1],
    ['at a pointer as large as 32 bits go', -1, 1],
    ['whose pointer and length add up to 2^32', -16, 16],
    ['whose pointer and length add up beyond 2^32', -16, 32],
  ])('refuses bytes %s, and that ends the call', async (_what, pointer, length) => {
    const instance = await asking((guest, a, b) => guest.bytes(a, b).length);
    const error = refused(() => instance.call('run', [pointer, length]));
    expect(error.code).toBe('out-of-bounds');
    expect(error.usage?.peakMemoryBytes).toBe(2 * PAGE);
    instance.release();
  });

  it('refuses exactly what lies outside, wherever and however long', async () => {
    const instance = await asking((guest, a, b) => {
      try {
        return guest.bytes(a, b).length;
      } catch {
        return -1;
      }
    });
    const u32 = fc.oneof(fc.nat(0xffff_ffff), fc.integer({ min: 2 * PAGE - 3, max: 2 * PAGE + 3 }));
    fc.assert(
      fc.property(u32, u32, (pointer, length) => {
        const expected = pointer + length <= 2 * PAGE ? length : -1;
        expect(instance.call('run', [pointer, length]).results).toEqual([expected]);
      }),
    );
    instance.release();
  });

  it('lets a host function answer for what is outside and go on', async () => {
    const instance = await asking((guest, a, b) => {
      try {
        return guest.bytes(a, b).length;
      } catch {
        return -1;
      }
    });
    expect(instance.call('run', [-1, 5]).results).toEqual([-1]);
    expect(instance.call('run', [1, 5]).results).toEqual([5]);
    instance.release();
  });

  it('has nothing to show of a guest without a memory', async () => {
    const hosts = hostTable([askRow((guest, a, b) => guest.bytes(a, b).length)]);
    const guest = wat(`(module (import "host" "ask" (func $ask (param i32 i32) (result i32)))
      (func (export "run") (param i32 i32) (result i32) (call $ask (local.get 0) (local.get 1))))`);
    const instance = engine.instantiate(await engine.compile(guest, { hosts }), { hosts });
    expect(instance.call('run', [0, 0]).results).toEqual([0]);
    expect(refused(() => instance.call('run', [0, 1])).code).toBe('out-of-bounds');
    instance.release();
  });
});

describe('guest.read(), write() and readText()', () => {
  it('read() returns a copy', async () => {
    let copy = new Uint8Array();
    const instance = await asking((guest) => {
      copy = guest.read(16, 5);
      guest.write(16, new Uint8Array([1, 2]));
      return 0;
    });
    instance.call('run', [0, 0]);
    expect([...copy]).toEqual([99, 97, 102, 195, 169]);
    expect([16, 17, 18].map((at) => instance.call('at', [at]).results[0])).toEqual([1, 2, 102]);
    instance.release();
  });

  it('write() past the end writes nothing', async () => {
    const instance = await asking((guest) => {
      try {
        guest.write(2 * PAGE - 1, new Uint8Array([5, 6]));
      } catch {
        return 1;
      }
      return 0;
    });
    expect(instance.call('run', [0, 0]).results).toEqual([1]);
    expect(instance.call('at', [2 * PAGE - 1]).results).toEqual([0]);
    instance.release();
  });

  it('readText() reads UTF-8, and anything else ends the call', async () => {
    const texts: string[] = [];
    const instance = await asking((guest, pointer, length) => texts.push(guest.readText(pointer, length)));
    instance.call('run', [16, 5]);
    expect(texts).toEqual(['café']);
    const error = refused(() => instance.call('run', [64, 2]));
    expect([error.code, error.detail]).toEqual(['trap', 'utf-8']);
    instance.release();
  });

  it('are out of reach when the call has ended', async () => {
    const kept: Guest[] = [];
    const instance = await asking((guest) => kept.push(guest));
    instance.call('run', [0, 0]);
    const [guest] = kept;
    expect(refused(() => guest?.read(0, 1)).code).toBe('retired');
    expect(refused(() => guest?.charge(1)).code).toBe('retired');
    instance.release();
  });

  it('are out of reach from inside a later call of the same instance', async () => {
    const kept: Guest[] = [];
    const instance = await asking((guest) => kept.push(guest) && (kept[0]?.readText(16, 3).length ?? 0));
    expect(instance.call('run', [0, 0]).results).toEqual([3]);
    const error = refused(() => instance.call('run', [0, 0]));
    expect([error.code, (error.cause as WasmError).code]).toEqual(['host', 'retired']);
    instance.release();
  });
});

describe('guest.charge()', () => {
  it('is counted in what the call used, to the unit', async () => {
    const instance = await asking((guest, fuel) => {
      const before = guest.fuelLeft();
      guest.charge(fuel);
      return before - guest.fuelLeft();
    });
    const plain = instance.call('run', [0, 0]).fuelUsed;
    expect(instance.call('run', [700, 0])).toMatchObject({ results: [700], fuelUsed: plain + 700 });
    expect(instance.call('run', [700, 0], { fuel: plain + 700 }).fuelUsed).toBe(plain + 700);
    expect(refused(() => instance.call('run', [700, 0], { fuel: plain + 699 })).code).toBe('fuel');
    instance.release();
  });

  it('ends the call as fuel when there is too little, even if the host function goes on', async () => {
    let isPastCharge = false;
    const instance = await asking((guest) => {
      try {
        guest.charge(1_000_000);
      } catch {
        isPastCharge = true;
      }
      return 1;
    });
    const error = refused(() => instance.call('run', [0, 0], { fuel: 1000 }));
    expect([error.code, error.usage?.fuelUsed, isPastCharge]).toEqual(['fuel', 1000, true]);
    instance.release();
  });

  it('leaves a guest that owes fuel no second host call', async () => {
    const guest = wat(`(module
      (import "host" "ask" (func $ask (param i32 i32) (result i32)))
      (func (export "run") (param i32) (result i32) (local $i i32)
        (drop (call $ask (local.get 0) (i32.const 0)))
        (loop $again
          (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100))))
        (call $ask (i32.const 0) (i32.const 0))))`);
    let calls = 0;
    const ask: Ask = (guestView, fuel) => {
      calls += 1;
      guestView.charge(fuel);
      return calls;
    };
    const hosts = hostTable([askRow(ask)]);
    const instance = engine.instantiate(await engine.compile(guest, { hosts }), { hosts });
    expect(instance.call('run', [9000], { fuel: 10_000 }).results).toEqual([2]);
    calls = 0;
    expect(refused(() => instance.call('run', [9900], { fuel: 10_000 })).code).toBe('fuel');
    expect(calls).toBe(1);
    instance.release();
  });

  it.each([-1, Number.NaN, 0.5, Number.POSITIVE_INFINITY])(
    'refuses %d, so no fuel is ever given back',
    async (fuel) => {
      const instance = await asking((guest) => {
        guest.charge(fuel);
        return 0;
      });
      const error = refused(() => instance.call('run', [0, 0]));
      expect(error.code).toBe('host');
      expect(error.cause).toBeInstanceOf(RangeError);
      instance.release();
    },
  );
});
