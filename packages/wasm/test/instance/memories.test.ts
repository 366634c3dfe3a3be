import { describe, expect, it } from 'vitest';
import { createEngine, type Engine } from '../../src/instance/engine.ts';
import { hostFunction, hostTable } from '../../src/instance/host.ts';
import { hasMultiMemory } from '../fixture/features.ts';
import { wat } from '../fixture/wat.ts';
import { refused, refusedLater } from './refused.ts';

const PAGE = 65_536;

/** Two memories of its own and one that it imports; the host sees the one exported as `memory`, which is the last. */
const GUEST = wat(`(module
  (import "host" "look" (func $look (param i32) (result i32)))
  (import "host" "imported" (memory $imported 1 4))
  (memory $hidden 1)
  (memory $shown (export "memory") 1 8)
  (data (i32.const 0) "i")
  (data $hs "hs")
  (func $start
    (memory.init $hidden $hs (i32.const 0) (i32.const 0) (i32.const 1))
    (memory.init $shown $hs (i32.const 0) (i32.const 1) (i32.const 1)))
  (start $start)
  (func (export "first") (result i32 i32 i32)
    (i32.load8_u $imported (i32.const 0)) (i32.load8_u $hidden (i32.const 0)) (i32.load8_u $shown (i32.const 0)))
  (func (export "look") (result i32) (call $look (i32.const 0)))
  (func (export "spoil")
    (i32.store8 $imported (i32.const 0) (i32.const 1))
    (i32.store8 $hidden (i32.const 0) (i32.const 2))
    (i32.store8 $shown (i32.const 0) (i32.const 3)))
  (func (export "grow") (param i32 i32 i32) (result i32 i32 i32)
    (memory.grow $imported (local.get 0)) (memory.grow $hidden (local.get 1)) (memory.grow $shown (local.get 2))))`);

const FIRST = [...'ihs'].map((letter) => letter.charCodeAt(0));

const hosts = hostTable([
  hostFunction({
    module: 'host',
    name: 'look',
    params: ['i32'],
    results: ['i32'],
    fuel: 1,
    run: (guest, pointer) => guest.bytes(pointer, 1)[0] ?? 0,
  }),
]);

function compile(engine: Engine) {
  return engine.compile(GUEST, { hosts, limits: { memoryBytes: 10 * PAGE } });
}

/** Uses a guest with three memories in every way. */
async function useAll(): Promise<void> {
  const engine = createEngine();
  const compiled = await compile(engine);
  const instance = engine.instantiate(compiled, { hosts });
  expect(engine.occupancy()).toEqual({ instances: 1, memoryBytes: 10 * PAGE });
  expect(instance.call('first')).toMatchObject({ results: FIRST, peakMemoryBytes: 3 * PAGE });
  expect(instance.call('look').results).toEqual(['s'.charCodeAt(0)]);
  instance.call('spoil');
  expect(instance.call('first').results).toEqual([1, 2, 3]);
  // All together have ten pages: each grow is within its own maximum, the last one is not within what is left.
  expect(instance.call('grow', [3, 3, 2])).toMatchObject({ results: [1, 1, -1], peakMemoryBytes: 9 * PAGE });
  expect(instance.call('grow', [0, 0, 1])).toMatchObject({ results: [4, 4, 1], peakMemoryBytes: 10 * PAGE });
  instance.release();
  expect(engine.occupancy()).toEqual({ instances: 0, memoryBytes: 0 });

  const revived = await engine.revive(compiled.serialise(), { digest: compiled.digest });
  const pool = engine.pool(revived, { size: 1, hosts, limits: { memoryBytes: 4 * PAGE } });
  pool.run('spoil');
  expect(pool.run('first').results).toEqual(FIRST);
  expect(pool.run('grow', [1, 1, 1]).results).toEqual([1, -1, -1]);
  expect(pool.run('first').results).toEqual(FIRST);
  pool.close();
  const low = { hosts, limits: { memoryBytes: 2 * PAGE } };
  expect(refused(() => engine.instantiate(revived, low)).detail).toBe('memoryBytes');
}

describe('a guest with several memories', () => {
  it('has them all within one limit where V8 knows such guests, and is refused by name where it does not', async () => {
    if (hasMultiMemory) return useAll();
    const error = await refusedLater(() => compile(createEngine()));
    expect([error.code, error.detail]).toEqual(['feature', 'multi-memory']);
  });
});
