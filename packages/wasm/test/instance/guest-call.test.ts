import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import type { Guest } from '../../src/instance/guest.ts';
import { type HostTable, hostFunction, hostTable } from '../../src/instance/host.ts';
import type { Pool } from '../../src/instance/pool.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

/** `run` asks the host, which may call what else is exported. */
const GUEST = wat(`(module
  (import "host" "ask" (func $ask (result i32)))
  (memory (export "memory") 1 4)
  (global $count (mut i32) (i32.const 0))
  (func (export "run") (result i32) (i32.add (call $ask) (i32.const 1000)))
  (func (export "double") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
  (func (export "wide") (param i64 f64) (result i64) (i64.add (local.get 0) (i64.trunc_f64_s (local.get 1))))
  (func (export "count") (global.set $count (i32.add (global.get $count) (i32.const 1))))
  (func (export "counted") (result i32) (global.get $count))
  (func (export "mark") (param i32) (i32.store (i32.const 64) (local.get 0)))
  (func (export "pair") (result i32 i32) (i32.const 1) (i32.const 2))
  (func (export "grow") (result i32) (memory.grow (i32.const 1)))
  (func (export "panic") unreachable)
  (func (export "divide") (param i32) (result i32) (i32.div_s (i32.const 1) (local.get 0)))
  (func (export "stray") (result i32) (i32.load (i32.const -1)))
  (func (export "forever") (loop (br 0)))
  (func $deep (export "deep") (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
      (else (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))))
  (func (export "again") (result i32) (call $ask))
  (export "door" (func $ask)))`);

async function asking(ask: (guest: Guest) => number): Promise<Pool> {
  const hosts = hostsOf(ask);
  const engine = createEngine();
  return engine.pool(await engine.compile(GUEST, { hosts }), { size: 2, hosts });
}

function hostsOf(ask: (guest: Guest) => number): HostTable {
  return hostTable([
    hostFunction({ module: 'host', name: 'ask', params: [], results: ['i32'], fuel: 10, run: ask }),
  ]);
}

function swallowed(act: () => unknown): void {
  try {
    act();
  } catch {
    // A host function that goes on as if nothing had happened.
  }
}

describe('guest.call', () => {
  it('calls an export of the guest and returns its result', async () => {
    const pool = await asking((guest) => Number(guest.call('double', 21)));
    expect(pool.run('run').results).toEqual([1042]);
  });

  it('passes 64-bit integers and floats, and returns nothing where there is no result', async () => {
    const seen: unknown[] = [];
    const pool = await asking((guest) => {
      seen.push(guest.call('wide', 2n ** 40n, 7.9), guest.call('count'), guest.call('counted'));
      return 0;
    });
    pool.run('run');
    expect(seen).toEqual([2n ** 40n + 7n, undefined, 1]);
  });

  it('is paid from the same fuel, to the last unit', async () => {
    const without = await asking(() => 0);
    const pool = await asking((guest) => Number(guest.call('deep', 100)));
    const { fuelUsed } = pool.run('run');
    const alone = pool.run('deep', [100]).fuelUsed;
    expect(fuelUsed).toBe(without.run('run').fuelUsed + alone);
    expect(pool.run('run', [], { fuel: fuelUsed }).results).toEqual([1100]);
    expect(refused(() => pool.run('run', [], { fuel: fuelUsed - 1 })).code).toBe('fuel');
  });

  it('shows the host function a memory that grew meanwhile', async () => {
    const pool = await asking((guest) => {
      guest.call('grow');
      guest.write(65_536, Uint8Array.of(7));
      return guest.read(65_536, 1)[0] ?? 0;
    });
    expect(pool.run('run').results).toEqual([1007]);
  });

  it.each([
    ['panic', [], 'unreachable'],
    ['divide', [0], 'arithmetic'],
    ['stray', [], 'out-of-bounds'],
    ['forever', [], 'fuel'],
    ['deep', [1_000_000], 'stack'],
  ] as const)(
    'ends the whole call when %s fails, also if the host function goes on',
    async (name, args, code) => {
      let isPast = false;
      const pool = await asking((guest) => {
        swallowed(() => guest.call(name, ...args));
        isPast = true;
        return 0;
      });
      const error = refused(() => pool.run('run', [], { fuel: 100_000 }));
      expect(error.code).toBe(code);
      expect(error.usage?.fuelUsed).toBeLessThanOrEqual(100_000);
      expect(isPast).toBe(true);
      expect(pool.run('double', [2]).results).toEqual([4]);
    },
  );

  it('runs nothing any more once the call has ended', async () => {
    const seen: unknown[] = [];
    const pool = await asking((guest) => {
      guest.call('mark', 1);
      swallowed(() => guest.call('panic'));
      seen.push(refused(() => guest.call('mark', 2)).code, ...guest.read(64, 1));
      return 0;
    });
    refused(() => pool.run('run'));
    expect(seen).toEqual(['unreachable', 1]);
  });

  it('has the stack that the guest around it left, not another one', async () => {
    const depthLeft = (depth: number) => async () => {
      const pool = await asking((guest) => Number(guest.call('deep', depth)));
      return pool.run('run', [], { stackBytes: 64 * 1024 }).results[0];
    };
    expect(await depthLeft(100)()).toBe(1100);
    await expect(depthLeft(2_000)()).rejects.toMatchObject({ code: 'stack' });
  });
});

describe('a guest that a host function has called', () => {
  it.each(['again', 'door'])('cannot reach the host through %s', async (name) => {
    let asked = 0;
    const pool = await asking((guest) => {
      asked += 1;
      swallowed(() => guest.call(name));
      return 0;
    });
    expect(refused(() => pool.run('run'))).toMatchObject({ code: 'trap', detail: 're-entered' });
    expect(asked).toBe(1);
  });

  it('can reach it again when that host function is done', async () => {
    let asked = 0;
    const pool = await asking((guest) => {
      asked += 1;
      guest.call('count');
      return 0;
    });
    pool.run('run');
    pool.run('again');
    expect(asked).toBe(2);
  });
});

describe('guest.call refuses', () => {
  it.each([
    ['what is not exported', 'nothing', []],
    ['the meter’s own exports', 'palisade:set', [1, 1]],
    ['a missing argument', 'double', []],
    ['an argument of another type', 'double', [1n]],
    ['an export with two results', 'pair', []],
  ] as const)('%s', async (_name, name, args) => {
    const codes: string[] = [];
    const pool = await asking((guest) => {
      codes.push(refused(() => guest.call(name, ...args)).code);
      return 0;
    });
    // Nothing has run, so the call goes on.
    expect(pool.run('run').results).toEqual([1000]);
    expect(codes).toEqual(['export']);
  });

  it('when its call has ended, also inside the next one', async () => {
    const kept: Guest[] = [];
    const codes: string[] = [];
    const pool = await asking((guest) => {
      const [earlier] = kept;
      if (earlier !== undefined) codes.push(refused(() => earlier.call('double', 1)).code);
      kept.push(guest);
      return 0;
    });
    pool.run('run');
    pool.run('run');
    expect(codes).toEqual(['retired']);
  });
});

describe('an instance that keeps its state', () => {
  it('keeps what its guest did for a host function', async () => {
    const hosts = hostsOf((guest) => {
      guest.call('count');
      return 0;
    });
    const engine = createEngine();
    const instance = engine.instantiate(await engine.compile(GUEST, { hosts }), { hosts });
    instance.call('run');
    instance.call('run');
    expect(instance.call('counted').results).toEqual([2]);
  });

  it('is retired when that guest fails', async () => {
    const hosts = hostsOf((guest) => {
      swallowed(() => guest.call('panic'));
      return 0;
    });
    const engine = createEngine();
    const instance = engine.instantiate(await engine.compile(GUEST, { hosts }), { hosts });
    expect(refused(() => instance.call('run')).code).toBe('unreachable');
    expect(refused(() => instance.call('counted')).code).toBe('retired');
  });
});
