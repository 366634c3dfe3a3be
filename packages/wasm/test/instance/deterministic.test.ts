import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import { hostFunction, hostTable } from '../../src/instance/host.ts';
import { wat } from '../fixture/wat.ts';

/** Enough for V8 to compile the crossing with its best compiler and to inline it. */
const WARM = 20_000;

/** Says which bits reach the guest: of an argument, and of what the host gives back for a NaN, alone and among others. */
const GUEST = wat(`(module
  (import "host" "one" (func $one (param f64) (result f64)))
  (import "host" "small" (func $small (param f32) (result f32)))
  (import "host" "pair" (func $pair (param f64) (result i32 f64)))
  (func (export "given") (param f64) (result i64) (i64.reinterpret_f64 (local.get 0)))
  (func (export "givenSmall") (param f32) (result i32) (i32.reinterpret_f32 (local.get 0)))
  (func (export "one") (param i64) (result i64)
    (i64.reinterpret_f64 (call $one (f64.reinterpret_i64 (local.get 0)))))
  (func (export "small") (param i32) (result i32)
    (i32.reinterpret_f32 (call $small (f32.reinterpret_i32 (local.get 0)))))
  (func (export "pair") (param i64) (result i64) (local f64)
    (local.set 1 (call $pair (f64.reinterpret_i64 (local.get 0))))
    (drop)
    (i64.reinterpret_f64 (local.get 1))))`);

const row = { module: 'host', fuel: 1 } as const;
const hosts = hostTable([
  hostFunction({ ...row, name: 'one', params: ['f64'], results: ['f64'], run: (_guest, value) => value }),
  hostFunction({ ...row, name: 'small', params: ['f32'], results: ['f32'], run: (_guest, value) => value }),
  hostFunction({
    ...row,
    name: 'pair',
    params: ['f64'],
    results: ['i32', 'f64'],
    run: (_guest, value) => [1, value] as const,
  }),
]);

/** NaNs with a sign and bits of their own, as a program has them that reads them out of a file. */
const ODD = new BigUint64Array([0xfff8_0000_0000_0123n, 0x7ff0_0000_00ab_cdefn]);
const ODD_NANS = new Float64Array(ODD.buffer);

const engine = createEngine({ deterministic: true });
const compiled = await engine.compile(GUEST, { hosts });

describe('a deterministic engine', () => {
  it.each([
    ['given', () => ODD_NANS[0] ?? 0, 0x7ff8_0000_0000_0000n],
    ['given', () => ODD_NANS[1] ?? 0, 0x7ff8_0000_0000_0000n],
    ['givenSmall', () => ODD_NANS[0] ?? 0, 0x7fc0_0000n],
    ['one', () => ODD[0] ?? 0n, 0x7ff8_0000_0000_0000n],
    ['one', () => ODD[1] ?? 0n, 0x7ff8_0000_0000_0000n],
    ['small', () => 0x7f8a_bcde, 0x7fc0_0000n],
    ['pair', () => ODD[0] ?? 0n, 0x7ff8_0000_0000_0000n],
  ])('gives the guest one NaN in %s(), however often it is called', (name, argument, bits) => {
    const instance = engine.instantiate(compiled, { hosts });
    const seen = new Set<bigint>();
    for (let run = 0; run < WARM; run += 1) {
      seen.add(BigInt.asUintN(64, BigInt(instance.call(name, [argument()]).results[0] ?? 0)));
    }
    expect([...seen]).toEqual([bits]);
    instance.release();
  });

  it('gives it in a pool and after a revival too', async () => {
    const revived = await engine.revive(compiled.serialise(), { digest: compiled.digest });
    const pool = engine.pool(revived, { size: 1, hosts });
    const seen = new Set<unknown>();
    for (let run = 0; run < 1000; run += 1) {
      seen.add(pool.run('one', [ODD[0] ?? 0n]).results[0]);
      seen.add(pool.run('given', [ODD_NANS[0] ?? 0]).results[0]);
    }
    expect([...seen]).toEqual([0x7ff8_0000_0000_0000n]);
    pool.close();
  });

  it('changes no other number on its way', () => {
    const instance = engine.instantiate(compiled, { hosts });
    const numbers = new BigUint64Array(
      new Float64Array([0, -0, 1.5, -1e-310, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]).buffer,
    );
    for (const name of ['one', 'pair'])
      expect([...numbers].map((bits) => instance.call(name, [bits]).results[0])).toEqual(
        [...numbers].map((bits) => BigInt.asIntN(64, bits)),
      );
    instance.release();
  });
});
