import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

const PAGE = 65_536;

const GUEST = wat(`(module
  (memory (export "memory") 1 4)
  (global $calls (mut i32) (i32.const 0))
  (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
  (func (export "wide") (param i64) (result i64) (i64.add (local.get 0) (i64.const 1)))
  (func (export "half") (param f64) (result f64) (f64.div (local.get 0) (f64.const 2)))
  (func (export "pair") (param i32) (result i32 i64) (local.get 0) (i64.const 7))
  (func (export "count") (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (global.get $calls))
  (func (export "spin") (loop $again (br $again)))
  (func $deep (export "deep") (result i32) (i32.add (i32.const 1) (call $deep)))
  (func (export "fail") unreachable)
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "reference") (param externref))
  (func (export "vector") (result v128) (v128.const i64x2 1 2)))`);

const engine = createEngine();
const compiled = await engine.compile(GUEST);

function fresh() {
  return engine.instantiate(compiled);
}

describe('call()', () => {
  it('returns the results of the guest, one, several or none', () => {
    const instance = fresh();
    expect(instance.call('add', [2, 3]).results).toEqual([5]);
    expect(instance.call('wide', [2n ** 40n]).results).toEqual([2n ** 40n + 1n]);
    expect(instance.call('half', [5]).results).toEqual([2.5]);
    expect(instance.call('pair', [9]).results).toEqual([9, 7n]);
    expect(instance.call('grow', [0]).results).toEqual([1]);
    instance.release();
  });

  it('keeps the state of the guest from call to call', () => {
    const instance = fresh();
    expect([1, 2, 3].map(() => instance.call('count').results[0])).toEqual([1, 2, 3]);
    instance.release();
  });

  it('takes exactly the fuel that it reports', () => {
    const instance = fresh();
    const { fuelUsed } = instance.call('add', [1, 2]);
    expect(fuelUsed).toBeGreaterThan(0);
    expect(instance.call('add', [1, 2], { fuel: fuelUsed }).fuelUsed).toBe(fuelUsed);
    const error = refused(() => instance.call('add', [1, 2], { fuel: fuelUsed - 1 }));
    expect(error.code).toBe('fuel');
    expect(error.usage).toEqual({ fuelUsed: fuelUsed - 1, isExact: true, peakMemoryBytes: PAGE });
    instance.release();
  });

  it('ends an endless loop as fuel, having used all of it', () => {
    const instance = fresh();
    const error = refused(() => instance.call('spin', [], { fuel: 12_345 }));
    expect(error.code).toBe('fuel');
    expect(error.usage?.fuelUsed).toBe(12_345);
    instance.release();
  });

  it('ends an endless recursion as stack, by the meter and not by the machine', () => {
    const instance = fresh();
    const error = refused(() => instance.call('deep', [], { stackBytes: 65_536 }));
    expect(error.code).toBe('stack');
    expect(error.cause).toBeInstanceOf(WebAssembly.RuntimeError);
    instance.release();
  });

  it('reports the memory at its largest', () => {
    const instance = fresh();
    expect(instance.call('count').peakMemoryBytes).toBe(PAGE);
    expect(instance.call('grow', [2])).toMatchObject({ results: [1], peakMemoryBytes: 3 * PAGE });
    expect(instance.call('grow', [2])).toMatchObject({ results: [-1], peakMemoryBytes: 3 * PAGE });
    instance.release();
  });

  it.each(['fail', 'spin', 'deep'])('retires the instance when %s ended it', (name) => {
    const instance = fresh();
    refused(() => instance.call(name, []));
    expect(instance.isRetired).toBe(true);
    expect(refused(() => instance.call('add', [1, 2])).code).toBe('retired');
    instance.release();
  });

  it.each([
    ['nothing', [], 'no such function'],
    ['memory', [], 'no such function'],
    ['palisade:set', [1e6, 1e6], 'no such function'],
    ['palisade:left', [], 'no such function'],
    ['__proto__', [], 'no such function'],
    ['add', [1], '1 arguments were given'],
    ['add', [1, 2, 3], '3 arguments were given'],
    ['add', [1, 2n], 'argument 1 is 2 (bigint)'],
    ['add', [1, 2.5], 'argument 1 is 2.5'],
    ['add', [1, 2 ** 32], 'argument 1 is 4294967296'],
    ['add', [Number.NaN, 2], 'argument 0 is NaN'],
    ['wide', [1], 'argument 0 is 1 (number)'],
    ['wide', [2n ** 64n], 'argument 0 is 18446744073709551616'],
    ['reference', [1], 'externref'],
    ['vector', [], 'v128'],
  ])('refuses %s with %s before anything runs', (name, args, says) => {
    const instance = fresh();
    const error = refused(() => instance.call(name, args));
    expect(error.code).toBe('export');
    expect(error.message).toContain(says);
    expect(instance.call('count').results).toEqual([1]);
    instance.release();
  });

  it('refuses objects that would turn into numbers', () => {
    const instance = fresh();
    const sly = { valueOf: () => 1 } as unknown as number;
    expect(refused(() => instance.call('add', [1, sly])).code).toBe('export');
    expect(refused(() => instance.call('half', ['5' as unknown as number])).code).toBe('export');
    instance.release();
  });

  it('takes the whole range of each integer type', () => {
    const instance = fresh();
    expect(instance.call('add', [0xffff_ffff, 0]).results).toEqual([-1]);
    expect(instance.call('add', [-0x8000_0000, 0]).results).toEqual([-0x8000_0000]);
    expect(instance.call('wide', [2n ** 64n - 1n]).results).toEqual([0n]);
    expect(instance.call('wide', [-(2n ** 63n)]).results).toEqual([-(2n ** 63n) + 1n]);
    instance.release();
  });

  it.each([
    { fuel: 10_000_001 },
    { fuel: -1 },
    { fuel: Number.NaN },
    { fuel: 0.5 },
    { stackBytes: 2 ** 30 },
    { deadline: Number.NaN },
  ])('refuses %j: a call asks for less, never for more', (options) => {
    const instance = fresh();
    expect(() => instance.call('add', [1, 2], options)).toThrow(RangeError);
    expect(instance.call('add', [1, 2]).results).toEqual([3]);
    instance.release();
  });
});
