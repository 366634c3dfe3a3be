import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import type { Guest } from '../../src/instance/guest.ts';
import { hostFunction, hostTable } from '../../src/instance/host.ts';
import type { Pool } from '../../src/instance/pool.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

const GUEST = wat(`(module
  (import "host" "ask" (func $ask (param i32) (result i32)))
  (memory (export "memory") 1 4)
  (global $count (mut i32) (i32.const 0))
  (func $begin (i32.store (i32.const 64) (call $ask (i32.const 0))))
  (start $begin)
  (func (export "count") (result i32)
    (global.set $count (i32.add (global.get $count) (i32.const 1))) (global.get $count))
  (func (export "ask") (param i32) (result i32) (call $ask (local.get 0)))
  (func (export "panic") unreachable)
  (func (export "forever") (loop (br 0)))
  (export "door" (func $ask)))`);

type Ask = (guest: Guest, number: number) => number;

async function poolOf(ask: Ask = (_guest, number) => number + 1, now?: () => number): Promise<Pool> {
  const hosts = hostTable([
    hostFunction({ module: 'host', name: 'ask', params: ['i32'], results: ['i32'], fuel: 10, run: ask }),
  ]);
  const engine = createEngine(now === undefined ? {} : { now });
  return engine.pool(await engine.compile(GUEST, { hosts }), { size: 1, hosts });
}

describe('a visit', () => {
  it('calls one guest as often as it wants, and the next visit another one', async () => {
    const pool = await poolOf();
    for (let visit = 0; visit < 2; visit += 1) {
      const { value } = pool.visit({}, (guest) => [guest.call('count'), guest.call('count')]);
      expect(value).toEqual([1, 2]);
    }
  });

  it('comes after the start function, and reaches the memory', async () => {
    const pool = await poolOf(() => 77);
    const { value } = pool.visit({}, (guest) => {
      guest.write(100, Uint8Array.of(5));
      return [...guest.read(64, 1), ...guest.read(100, 1)];
    });
    expect(value).toEqual([77, 5]);
    expect(pool.visit({}, (guest) => guest.read(100, 1)[0]).value).toBe(0);
  });

  it('is one call with one count of fuel', async () => {
    const pool = await poolOf();
    const twice = (guest: Guest) => {
      guest.call('ask', 1);
      guest.charge(100);
      return guest.call('ask', 2);
    };
    const { value, fuelUsed, isExact, peakMemoryBytes } = pool.visit({}, twice);
    expect({ value, isExact, peakMemoryBytes }).toEqual({ value: 3, isExact: true, peakMemoryBytes: 65_536 });
    const begun = pool.visit({}, () => 0).fuelUsed;
    const asked = pool.visit({}, (guest) => guest.call('ask', 1)).fuelUsed;
    expect(fuelUsed).toBe(2 * asked - begun + 100);
    expect(pool.visit({ fuel: fuelUsed }, twice).value).toBe(3);
    expect(refused(() => pool.visit({ fuel: fuelUsed - 1 }, twice)).code).toBe('fuel');
  });

  it('sees no result of a guest that had too little fuel for it', async () => {
    const pool = await poolOf();
    const { fuelUsed } = pool.visit({}, (guest) => guest.call('count'));
    const seen: unknown[] = [];
    const look = (guest: Guest) => seen.push(guest.call('count'));
    expect(refused(() => pool.visit({ fuel: fuelUsed - 1 }, look)).code).toBe('fuel');
    expect(seen).toEqual([]);
    pool.visit({ fuel: fuelUsed }, look);
    expect(seen).toEqual([1]);
  });

  it('lets the guest reach the host, also through an import that it exports', async () => {
    const pool = await poolOf();
    const plain = pool.visit({}, () => 0).fuelUsed;
    const { value, fuelUsed } = pool.visit({}, (guest) => guest.call('door', 4));
    expect(value).toBe(5);
    expect(fuelUsed - plain).toBe(10);
  });

  it('hands its context to host functions', async () => {
    const seen: unknown[] = [];
    const pool = await poolOf((guest) => seen.push(guest.context));
    pool.visit({ context: 'mine' }, (guest) => guest.call('ask', 1));
    expect(seen).toEqual(['mine', 'mine']);
  });

  it('ends with its deadline', async () => {
    let time = 0;
    const pool = await poolOf(undefined, () => time);
    const late = (guest: Guest) => {
      time = 50;
      return guest.call('count');
    };
    expect(refused(() => pool.visit({ deadline: 10 }, late)).code).toBe('deadline');
  });
});

describe('a host function in a visit', () => {
  it('calls the guest without letting it reach the host again', async () => {
    let asked = 0;
    const pool = await poolOf((guest, number) => {
      asked += 1;
      if (number === 0) return 0;
      return Number(guest.call(number === 1 ? 'count' : 'ask', ...(number === 1 ? [] : [1])));
    });
    expect(pool.visit({}, (guest) => guest.call('ask', 1)).value).toBe(1);
    const error = refused(() => pool.visit({}, (guest) => guest.call('ask', 2)));
    expect(error).toMatchObject({ code: 'trap', detail: 're-entered' });
    expect(asked).toBe(4);
  });

  it('cannot use the guest of the visit around it, which would let it reach the host', async () => {
    const outer: Guest[] = [];
    const codes: string[] = [];
    const pool = await poolOf((_guest, number) => {
      for (const each of outer) codes.push(refused(() => each.call('ask', number)).code);
      return 0;
    });
    pool.visit({}, (guest) => {
      outer.push(guest);
      guest.call('ask', 1);
      // And the visit has it back.
      expect(guest.call('count')).toBe(1);
    });
    expect(codes).toEqual(['retired']);
  });
});

describe('a visit that fails', () => {
  it.each([
    ['panic', 'unreachable'],
    ['forever', 'fuel'],
  ])('with %s has failed, also if it goes on', async (name, code) => {
    const pool = await poolOf();
    let later: unknown;
    const error = refused(() =>
      pool.visit({ fuel: 10_000 }, (guest) => {
        later = [refused(() => guest.call(name)).code, refused(() => guest.call('count')).code];
        return 'well';
      }),
    );
    expect(error.code).toBe(code);
    expect(later).toEqual([code, code]);
    expect(pool.visit({}, (guest) => guest.call('count')).value).toBe(1);
  });

  it.each([new RangeError('too far'), new Error('mine'), 'a text'])(
    'by itself throws what it threw: %s',
    async (mine) => {
      const pool = await poolOf();
      const visit = () =>
        pool.visit({}, () => {
          throw mine;
        });
      expect(visit).toThrow(typeof mine === 'string' ? mine : mine.message);
      expect(pool.visit({}, (guest) => guest.call('count')).value).toBe(1);
    },
  );

  it('on what lies outside of the memory says so', async () => {
    const pool = await poolOf();
    expect(refused(() => pool.visit({}, (guest) => guest.read(65_536, 1))).code).toBe('out-of-bounds');
  });

  it('ends for a caller that kept its guest', async () => {
    const pool = await poolOf();
    const { value } = pool.visit({}, (guest) => guest);
    expect(refused(() => value.call('count')).code).toBe('retired');
    expect(refused(() => value.read(0, 1)).code).toBe('retired');
  });

  it('finds no free slot inside another run', async () => {
    const pool = await poolOf();
    expect(refused(() => pool.visit({}, () => pool.visit({}, () => 0))).code).toBe('memory');
  });
});
