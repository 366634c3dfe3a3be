import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import type { Pool } from '../../src/instance/pool.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from './refused.ts';

const NAMES = { room: 'room', work: 'work' };

/** A guest that allocates at 1,024 and whose answer is what its body makes of (address, length). */
function answering(body: string, more = ''): Uint8Array<ArrayBuffer> {
  return wat(`(module (memory (export "memory") 1 4)
    (global $seen (mut i32) (i32.const 0)) ${more}
    (func (export "room") (param i32) (result i32) (i32.const 1024))
    (func (export "work") (param $at i32) (param $length i32) (result i64) ${body}))`);
}

const PACK = `(i64.or (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32))
  (i64.extend_i32_u (local.get $length)))`;
const ECHO = answering(PACK);

async function poolOf(bytes: Uint8Array<ArrayBuffer>): Promise<Pool> {
  const engine = createEngine();
  return engine.pool(await engine.compile(bytes), { size: 1 });
}

describe('bytes that are handed to a guest', () => {
  it('come back as the guest returns them, whatever they are', async () => {
    const pool = await poolOf(ECHO);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5_000 }), (input) => {
        expect(pool.exchange(NAMES, input).bytes).toEqual(new Uint8Array(input));
      }),
    );
  });

  it('are a copy: what the guest does to its memory later changes nothing', async () => {
    const pool = await poolOf(ECHO);
    const first = pool.exchange(NAMES, Uint8Array.of(1, 2, 3)).bytes;
    pool.exchange(NAMES, Uint8Array.of(9, 9, 9));
    expect(first).toEqual(Uint8Array.of(1, 2, 3));
  });

  it('are gone for the next guest, with everything else', async () => {
    const counts = answering(
      `(global.set $seen (i32.add (global.get $seen) (i32.load8_u (i32.const 2000))))
       (i32.store8 (i32.const 2000) (i32.const 1)) (i32.store8 (i32.const 0) (global.get $seen))
       (i64.const 1)`,
    );
    const pool = await poolOf(counts);
    for (let call = 0; call < 3; call += 1)
      expect(pool.exchange(NAMES, new Uint8Array(0)).bytes).toEqual(Uint8Array.of(0));
  });

  it('are paid for both ways, in one count with the work', async () => {
    const pool = await poolOf(ECHO);
    const none = pool.exchange(NAMES, new Uint8Array(0)).fuelUsed;
    const many = pool.exchange(NAMES, new Uint8Array(8_000)).fuelUsed;
    expect(many - none).toBe(2 * 1_000);
    expect(pool.exchange(NAMES, new Uint8Array(8_000), { fuel: many }).fuelUsed).toBe(many);
    expect(refused(() => pool.exchange(NAMES, new Uint8Array(8_000), { fuel: many - 1 })).code).toBe('fuel');
  });
});

describe('an export that sets a guest up', () => {
  const SEEN = '(i32.store8 (i32.const 0) (global.get $seen)) (i64.const 1)';
  const setUp = (type: string, end: string) =>
    answering(
      SEEN,
      `(func (export "set-up") ${type} (global.set $seen (i32.add (global.get $seen) (i32.const 7))) ${end})`,
    );
  const names = { ...NAMES, begin: 'set-up' };
  const none = new Uint8Array(0);

  it('is called once for each guest before the others, where it takes and gives nothing', async () => {
    const pool = await poolOf(setUp('', ''));
    for (let call = 0; call < 2; call += 1)
      expect(pool.exchange(names, none).bytes).toEqual(Uint8Array.of(7));
    expect(pool.exchange(NAMES, none).bytes).toEqual(Uint8Array.of(0));
    expect(pool.exchange(names, none).fuelUsed).toBeGreaterThan(pool.exchange(NAMES, none).fuelUsed);
  });

  it('is left alone where it has another type, and need not exist', async () => {
    for (const module of [setUp('(param i32)', ''), setUp('(result i32)', '(i32.const 0)'), answering(SEEN)])
      expect((await poolOf(module)).exchange(names, none).bytes).toEqual(Uint8Array.of(0));
  });

  it('ends the call where it traps', async () => {
    const pool = await poolOf(setUp('', '(unreachable)'));
    expect(refused(() => pool.exchange(names, none)).code).toBe('unreachable');
  });
});

describe('an answer is refused', () => {
  const answerAt = (at: bigint, length: bigint) =>
    answering(`(i64.const ${BigInt.asIntN(64, (at << 32n) | length)})`);

  it.each([
    ['that begins outside of the memory', 0xffff_fff0n, 4n],
    ['that ends one byte outside', 65_530n, 7n],
    ['whose address and length wrap around', 0xffff_ffffn, 0xffff_ffffn],
  ])('%s', async (_name, at, length) => {
    const pool = await poolOf(answerAt(at, length));
    const error = refused(() => pool.exchange(NAMES, new Uint8Array(0)));
    expect(['out-of-bounds', 'fuel']).toContain(error.code);
    // The pool goes on.
    expect(refused(() => pool.exchange(NAMES, new Uint8Array(0))).code).toBe(error.code);
  });

  it('that is longer than allowed, before a byte of it is copied', async () => {
    const pool = await poolOf(ECHO);
    const error = refused(() => pool.exchange(NAMES, new Uint8Array(11), { mostBytes: 10 }));
    expect(error).toMatchObject({ code: 'limit', detail: 'mostBytes' });
    expect(pool.exchange(NAMES, new Uint8Array(10), { mostBytes: 10 }).bytes).toHaveLength(10);
  });

  it('if the allocated input lies outside the memory', async () => {
    const pool = await poolOf(
      wat(`(module (memory (export "memory") 1 1)
        (func (export "room") (param i32) (result i32) (i32.const -8))
        (func (export "work") (param i32 i32) (result i64) (i64.const 0)))`),
    );
    for (const length of [0, 100])
      expect(refused(() => pool.exchange(NAMES, new Uint8Array(length))).code).toBe('out-of-bounds');
  });
});

describe('exports that do not fit', () => {
  it.each([
    ['are not there', '(func (export "room") (param i32) (result i32) (i32.const 0))'],
    [
      'return something else',
      `(func (export "room") (param i32) (result i32) (i32.const 0))
       (func (export "work") (param i32 i32) (result i32) (i32.const 0))`,
    ],
    [
      'take something else',
      `(func (export "room") (param i64) (result i32) (i32.const 0))
       (func (export "work") (param i32 i32) (result i64) (i64.const 0))`,
    ],
    [
      'return more than one value',
      `(func (export "room") (param i32) (result i32) (i32.const 0))
       (func (export "work") (param i32 i32) (result i64 i64) (i64.const 0) (i64.const 0))`,
    ],
    ['are the meter’s own', '(func (export "room") (param i32) (result i32) (i32.const 0))'],
  ])('%s: refused as export, and nothing has run', async (name, functions) => {
    const pool = await poolOf(wat(`(module (memory (export "memory") 1 1) ${functions})`));
    const names = name.includes('meter') ? { room: 'room', work: 'palisade:set' } : NAMES;
    expect(refused(() => pool.exchange(names, new Uint8Array(1))).code).toBe('export');
  });

  it('and a module without a memory cannot allocate', async () => {
    const pool = await poolOf(
      wat(`(module (func (export "room") (param i32) (result i32) (i32.const 0))
        (func (export "work") (param i32 i32) (result i64) (i64.const 0)))`),
    );
    expect(refused(() => pool.exchange(NAMES, new Uint8Array(1))).code).toBe('out-of-bounds');
  });
});
