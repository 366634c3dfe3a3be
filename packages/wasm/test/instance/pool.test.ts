import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WasmError } from '../../src/error.ts';
import { createEngine } from '../../src/instance/engine.ts';
import type { Guest } from '../../src/instance/guest.ts';
import { hostFunction, hostTable } from '../../src/instance/host.ts';
import type { Pool } from '../../src/instance/pool.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

const PAGE = 65_536;

/** A guest that can change everything it has, and says what it finds. */
const KEEPING = wat(`(module
  (memory (export "memory") 2 8)
  (data (i32.const 100) "segment")
  (data $passive "passive")
  (global $number (mut i32) (i32.const 11))
  (global $wide (mut i64) (i64.const 22))
  (global $float (mut f64) (f64.const 3.5))
  (table $functions 4 10 funcref)
  (table $references 2 10 externref)
  (elem (table $functions) (i32.const 0) func $one $two)
  (elem $spare func $two)
  (type $answer (func (result i32)))
  (func $one (result i32) (i32.const 1))
  (func $two (result i32) (i32.const 2))

  (func (export "store") (param $at i32) (param $byte i32) (i32.store8 (local.get $at) (local.get $byte)))
  (func (export "load") (param $at i32) (result i32) (i32.load8_u (local.get $at)))
  (func (export "fill") (param $byte i32)
    (memory.fill (i32.const 0) (local.get $byte) (i32.mul (memory.size) (i32.const 65536))))
  (func (export "sum") (result i64) (local $at i32) (local $sum i64)
    (loop $next
      (local.set $sum (i64.add (i64.mul (local.get $sum) (i64.const 31)) (i64.load (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536)))))
    (local.get $sum))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "spoil")
    (memory.fill (i32.const 0) (i32.const 0xaa) (i32.mul (memory.size) (i32.const 65536)))
    (drop (memory.grow (i32.const 3)))
    (memory.fill (i32.const 0) (i32.const 0xbb) (i32.mul (memory.size) (i32.const 65536)))
    (call $spoilRest))
  (func $spoilRest (export "spoilRest")
    (global.set $number (i32.const -1)) (global.set $wide (i64.const -1)) (global.set $float (f64.const -1))
    (table.set $functions (i32.const 0) (ref.null func))
    (table.set $functions (i32.const 3) (ref.func $one))
    (drop (table.grow $functions (ref.func $two) (i32.const 3)))
    (drop (table.grow $references (ref.null extern) (i32.const 3)))
    (data.drop $passive) (elem.drop $spare))
  (func (export "globals") (result i32 i64 f64) (global.get $number) (global.get $wide) (global.get $float))
  (func (export "tables") (result i32 i32 i32 i32)
    (table.size $functions) (table.size $references)
    (call_indirect $functions (type $answer) (i32.const 0))
    (ref.is_null (table.get $functions (i32.const 3))))
  (func (export "segments") (result i32)
    (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 7))
    (table.init $functions $spare (i32.const 2) (i32.const 0) (i32.const 1))
    (i32.add (i32.load8_u (i32.const 0)) (call_indirect $functions (type $answer) (i32.const 2))))
  (func (export "fail") (i32.store8 (i32.const 0) (i32.const 1)) unreachable)
  (func (export "spin") (i32.store8 (i32.const 0) (i32.const 1)) (loop $again (br $again))))`);

const engine = createEngine();
const compiled = await engine.compile(KEEPING);

/** Everything a run can see of what was there before it. */
function state(run: Pool['run']): unknown {
  return ['sum', 'globals', 'tables', 'segments', 'sum'].map((name) => {
    const { results, peakMemoryBytes } = run(name);
    return { name, results, peakMemoryBytes };
  });
}

function inPool<T>(use: (pool: Pool) => T): T {
  const pool = engine.pool(compiled, { size: 1 });
  try {
    return use(pool);
  } finally {
    pool.close();
  }
}

const PRISTINE = inPool((pool) => state((name) => pool.run(name)));

describe('pool.run()', () => {
  it('has a new guest in every run', () => {
    inPool((pool) => {
      expect(pool.run('globals').results).toEqual([11, 22n, 3.5]);
      expect(pool.run('tables').results).toEqual([4, 2, 1, 1]);
      expect(pool.run('segments').results).toEqual(['p'.charCodeAt(0) + 2]);
      expect(pool.run('load', [100]).results).toEqual(['s'.charCodeAt(0)]);
      expect(pool.run('grow', [0])).toMatchObject({ results: [2], peakMemoryBytes: 2 * PAGE });
    });
  });

  it.each([
    ['filled its memory', ['fill', [0xcc]], 'well'],
    ['changed globals, tables and segments', ['spoilRest', []], 'well'],
    ['changed everything and grew its memory', ['spoil', []], 'well'],
    ['trapped', ['fail', []], 'unreachable'],
    ['ran out of fuel', ['spin', []], 'fuel'],
  ] as const)('finds nothing of a run that %s', (_what, [name, args], end) => {
    inPool((pool) => {
      expect(endOf(() => pool.run(name, args))).toBe(end);
      expect(state((each) => pool.run(each))).toEqual(PRISTINE);
    });
  });

  it('would find it without a new guest: the same steps in one instance show', () => {
    const instance = engine.instantiate(compiled);
    instance.call('fill', [0xcc]);
    expect(instance.call('sum').results).not.toEqual(inPool((pool) => pool.run('sum').results));
    expect(instance.call('load', [100]).results).toEqual([0xcc]);
    instance.call('spoil');
    expect(instance.call('globals').results).toEqual([-1, -1n, -1]);
    expect(instance.call('grow', [0]).results).toEqual([5]);
    expect(refused(() => instance.call('segments')).code).toBe('out-of-bounds');
    instance.release();
  });

  it('finds nothing wherever earlier runs wrote', () => {
    const write = fc.tuple(fc.nat(2 * PAGE - 1), fc.integer({ min: 1, max: 255 }));
    inPool((pool) => {
      const [clean] = pool.run('sum').results;
      fc.assert(
        fc.property(fc.array(write, { maxLength: 5 }), fc.boolean(), (writes, isPrepared) => {
          for (const [at, byte] of writes) pool.run('store', [at, byte]);
          if (isPrepared) pool.prepare();
          expect(pool.run('sum').results[0]).toBe(clean);
          for (const [at] of writes) expect(pool.run('load', [at]).results[0]).toBe(originally(at));
        }),
      );
    });
  });

  it('uses a memory again after a run that ended well, never after one that trapped or grew it', async () => {
    const guest = wat(`(module (memory 1 2)
      (func (export "well"))
      (func (export "grow") (drop (memory.grow (i32.const 1))))
      (func (export "trap") unreachable))`);
    const pool = engine.pool(await engine.compile(guest), { size: 1 });
    const made = ['well', 'well', 'trap', 'well', 'grow', 'well'].map((name) =>
      memoriesMadeBy(() => endOf(() => pool.run(name))),
    );
    expect(made).toEqual([1, 0, 0, 1, 0, 1]);
    pool.close();
  });

  it('shows a host function that kept the guest of an earlier run nothing of the next one', async () => {
    const kept: { guest?: Guest; bytes?: Uint8Array } = {};
    const seen: unknown[] = [];
    const look = (guest: Guest) => {
      kept.guest ??= guest;
      kept.bytes ??= guest.bytes(0, 8);
      const { guest: first, bytes } = kept;
      const reach = [
        () => first.readText(0, 8),
        () => first.fuelLeft(),
        () => first.write(0, new Uint8Array(1)),
      ];
      seen.push([first.context, bytes.length, ...reach.map(endOf)]);
    };
    const row = { module: 'host', name: 'look', params: [], results: [], fuel: 1 } as const;
    const hosts = hostTable([hostFunction({ ...row, run: (guest) => void look(guest) })]);
    const guest = wat(`(module (import "host" "look" (func $look)) (memory 1)
      (func (export "run") (param i64) (i64.store (i32.const 0) (local.get 0)) (call $look)))`);
    const pool = engine.pool(await engine.compile(guest, { hosts }), { size: 1, hosts });
    pool.run('run', [0x4141_4141_4141_4141n], { context: 'tenant A' });
    pool.run('run', [0x4242_4242_4242_4242n], { context: 'tenant B' });
    expect(seen).toEqual([
      ['tenant A', 8, 'well', 'well', 'well'],
      [undefined, 0, 'retired', 'retired', 'retired'],
    ]);
    pool.close();
  });

  it('counts the fuel of the start function with the call’s', async () => {
    const text = (start: string) => `(module
      (global $n (mut i32) (i32.const 0))
      (func $start (loop $again (global.set $n (i32.add (global.get $n) (i32.const 1)))
        (br_if $again (i32.lt_u (global.get $n) (i32.const 100)))))
      ${start} (func (export "n") (result i32) (global.get $n)))`;
    const [plain, starting] = await Promise.all(
      [text(''), text('(start $start)')].map((each) => engine.compile(wat(each))),
    );
    if (plain === undefined || starting === undefined) throw new Error('Cannot happen');
    const pools = [plain, starting].map((module) => engine.pool(module, { size: 1 }));
    const [without, counted] = pools.map((pool) => pool.run('n'));
    const { fuelUsed } = engine.instantiate(starting).startUsage;
    expect(counted?.results).toEqual([100]);
    expect(counted?.fuelUsed).toBe((without?.fuelUsed ?? 0) + fuelUsed);
    expect(refused(() => pools[1]?.run('n', [], { fuel: fuelUsed })).code).toBe('fuel');
    for (const pool of pools) pool.close();
  });

  it('has the same results, fuel and memory every time', () => {
    inPool((pool) => {
      const first = pool.run('sum');
      expect([1, 2, 3].map(() => pool.run('sum'))).toEqual([first, first, first]);
    });
  });

  it('refuses what a call would refuse, and serves the next run', () => {
    inPool((pool) => {
      expect(refused(() => pool.run('palisade:left')).code).toBe('export');
      expect(refused(() => pool.run('load', [])).code).toBe('export');
      expect(() => pool.run('load', [1], { fuel: 1e9 })).toThrow(RangeError);
      expect(pool.run('load', [100]).results).toEqual([115]);
    });
  });

  it('holds no more than its size when host functions run guests of the same pool', async () => {
    const guest = wat(`(module (import "host" "again" (func $again (param i32) (result i32)))
      (memory 1)
      (func (export "run") (param i32) (result i32)
        (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
        (if (i32.eqz (local.get 0)) (then (return (i32.load (i32.const 0)))))
        (i32.add (call $again (i32.sub (local.get 0) (i32.const 1))) (i32.load (i32.const 0)))))`);
    const again = (_guest: Guest, depth: number): number => Number(pool.run('run', [depth]).results[0]);
    const hosts = hostTable([
      hostFunction({ module: 'host', name: 'again', params: ['i32'], results: ['i32'], fuel: 1, run: again }),
    ]);
    const pool = engine.pool(await engine.compile(guest, { hosts }), { size: 3, hosts });
    expect(pool.run('run', [2]).results).toEqual([3]);
    const error = refused(() => pool.run('run', [3]));
    expect(error.code).toBe('host');
    expect(pool.run('run', [2]).results).toEqual([3]);
    pool.close();
  });
});

describe('a pool', () => {
  it('reserves its capacity when it is opened and releases it when it is closed', async () => {
    const small = createEngine({ instances: 4 });
    const module = await small.compile(KEEPING);
    const pool = small.pool(module, { size: 3 });
    expect(small.occupancy()).toEqual({ instances: 3, memoryBytes: 3 * 8 * PAGE });
    const error = refused(() => small.pool(module, { size: 2 }));
    expect([error.code, error.detail]).toEqual(['memory', 'instances']);
    pool.close();
    pool.close();
    expect(small.occupancy()).toEqual({ instances: 0, memoryBytes: 0 });
    expect(refused(() => pool.run('globals')).code).toBe('retired');
  });

  it('runs nothing once it is closed, also while its last run continues', async () => {
    const small = createEngine();
    const ends: string[] = [];
    const close = () => {
      pool.close();
      ends.push(endOf(() => pool.prepare()));
      return undefined;
    };
    const hosts = hostTable([
      hostFunction({ module: 'host', name: 'close', params: [], results: [], fuel: 1, run: close }),
    ]);
    const guest = wat(
      '(module (import "host" "close" (func $close)) (memory 1) (func (export "run") (call $close)))',
    );
    const pool = small.pool(await small.compile(guest, { hosts }), { size: 2, hosts });
    pool.run('run');
    const made = memoriesMadeBy(() => ends.push(endOf(() => pool.prepare())));
    expect([ends, made]).toEqual([['retired', 'retired'], 0]);
    expect(small.occupancy()).toEqual({ instances: 0, memoryBytes: 0 });
  });

  it('keeps nothing reserved when it cannot be opened', async () => {
    const needy = await engine.compile(wat('(module (import "env" "x" (func)))'));
    const before = engine.occupancy();
    expect(refused(() => engine.pool(needy, { size: 2 })).code).toBe('link');
    expect(() => engine.pool(compiled, { size: 0 })).toThrow(RangeError);
    expect(engine.occupancy()).toEqual(before);
  });

  it('can be closed while it runs, and releases its capacity after that', async () => {
    const before = engine.occupancy();
    const close = () => {
      pool.close();
      expect(engine.occupancy().instances).toBe(before.instances + 1);
      return undefined;
    };
    const hosts = hostTable([
      hostFunction({ module: 'host', name: 'close', params: [], results: [], fuel: 1, run: close }),
    ]);
    const guest = wat(
      '(module (import "host" "close" (func $close)) (memory 1) (func (export "run") (call $close)))',
    );
    const pool = engine.pool(await engine.compile(guest, { hosts }), { size: 1, hosts });
    pool.run('run');
    expect(engine.occupancy()).toEqual(before);
  });

  it('runs no code of a guest when it is prepared', async () => {
    const starts: string[] = [];
    const hosts = hostTable([
      hostFunction({
        module: 'host',
        name: 'started',
        params: [],
        results: [],
        fuel: 1,
        run: () => void starts.push('started'),
      }),
    ]);
    const guest = wat(
      '(module (import "host" "started" (func $started)) (start $started) (func (export "run")))',
    );
    const pool = engine.pool(await engine.compile(guest, { hosts }), { size: 2, hosts });
    pool.prepare();
    expect(starts).toEqual([]);
    pool.run('run');
    expect(starts).toEqual(['started']);
    pool.close();
  });

  it('holds its guests to lower limits', () => {
    const pool = engine.pool(compiled, { size: 1, limits: { memoryBytes: 4 * PAGE, fuel: 5000 } });
    expect(pool.run('grow', [3]).results).toEqual([-1]);
    expect(pool.run('grow', [2]).results).toEqual([2]);
    expect(refused(() => pool.run('spin')).usage?.fuelUsed).toBe(5000);
    pool.close();
  });
});

function endOf(run: () => unknown): string {
  try {
    run();
    return 'well';
  } catch (error) {
    return error instanceof WasmError ? error.code : String(error);
  }
}

function memoriesMadeBy(act: () => unknown): number {
  const { Memory } = WebAssembly;
  let made = 0;
  WebAssembly.Memory = class extends Memory {
    constructor(descriptor: WebAssembly.MemoryDescriptor) {
      super(descriptor);
      made += 1;
    }
  };
  try {
    act();
  } finally {
    WebAssembly.Memory = Memory;
  }
  return made;
}

function originally(at: number): number {
  return 'segment'.charCodeAt(at - 100) || 0;
}
