import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { callLifted } from '../../src/component/canonical/call-lifted.ts';
import { loweredHost } from '../../src/component/canonical/lowered-host.ts';
import type { WitFunction } from '../../src/component/types.ts';
import type { Guest } from '../../src/instance/guest.ts';
import { refused } from '../instance/refused.ts';
import { poolOf, REALLOC } from './guest.ts';

const RUN: WitFunction = {
  params: [
    ['tool', 'string'],
    ['input', 'string'],
  ],
  result: {
    kind: 'result',
    ok: 'string',
    error: {
      kind: 'record',
      fields: [
        ['code', 'string'],
        ['message', 'string'],
      ],
    },
  },
};

/** `run` answers ok(input), or error { code: tool, message: input } where the tool is named by more than three bytes. */
const SKILL = `${REALLOC}
  (func (export "run") (param $tool i32) (param $toolBytes i32) (param $input i32) (param $inputBytes i32) (result i32)
    (i32.store (i32.const 256) (i32.gt_u (local.get $toolBytes) (i32.const 3)))
    (if (i32.load (i32.const 256))
      (then (i32.store (i32.const 260) (local.get $tool)) (i32.store (i32.const 264) (local.get $toolBytes))
        (i32.store (i32.const 268) (local.get $input)) (i32.store (i32.const 272) (local.get $inputBytes)))
      (else (i32.store (i32.const 260) (local.get $input)) (i32.store (i32.const 264) (local.get $inputBytes))))
    (i32.const 256))`;

describe('callLifted()', () => {
  it('passes text to a guest and returns its answer, whatever the text is', async () => {
    const pool = await poolOf(SKILL);
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER }), (input) => {
        const { value } = pool.visit({}, (guest) =>
          callLifted(guest, { name: 'run', type: RUN }, ['abc', input]),
        );
        expect(value).toEqual({ tag: 'ok', value: input });
      }),
    );
    const { value } = pool.visit({}, (guest) =>
      callLifted(guest, { name: 'run', type: RUN }, ['abcd', 'why']),
    );
    expect(value).toEqual({ tag: 'error', value: { code: 'abcd', message: 'why' } });
  });

  it('takes no more of a result than it may', async () => {
    const pool = await poolOf(SKILL);
    const taking = (mostBytes: number, tool: string, input: string) =>
      pool.visit({}, (guest) => callLifted(guest, { name: 'run', type: RUN, mostBytes }, [tool, input]))
        .value;
    expect(taking(4, 'abc', 'äö')).toEqual({ tag: 'ok', value: 'äö' });
    expect(taking(7, 'abcd', 'why')).toMatchObject({ tag: 'error' });
    for (const [most, tool] of [
      [3, 'abc'],
      [7, 'abcd'],
    ] as const) {
      const error = refused(() => taking(most, tool, 'äö'));
      expect(error).toMatchObject({ code: 'limit', detail: 'mostBytes', usage: { isExact: true } });
    }
  });

  it('passes many parameters in memory', async () => {
    const type: WitFunction = {
      params: Array.from({ length: 20 }, (_none, index) => [`p${index}`, 'u16']),
      result: 'u32',
    };
    const pool = await poolOf(
      `${REALLOC} (func (export "last") (param i32) (result i32) (i32.load16_u offset=38 (local.get 0)))`,
    );
    const args = Array.from({ length: 20 }, (_none, index) => 1_000 + index);
    expect(pool.visit({}, (guest) => callLifted(guest, { name: 'last', type }, args)).value).toBe(1_019);
  });

  it('passes numbers flat, and returns nothing where there is no result', async () => {
    const pool = await poolOf(
      `(func (export "wide") (param i64) (result i64) (local.get 0)) (func (export "none"))`,
    );
    const wide: WitFunction = { params: [['a', 'u64']], result: 'u64' };
    const seen = pool.visit({}, (guest) => [
      callLifted(guest, { name: 'wide', type: wide }, [2n ** 64n - 1n]),
      callLifted(guest, { name: 'none', type: { params: [], result: null } }, []),
    ]);
    expect(seen.value).toEqual([2n ** 64n - 1n, undefined]);
  });

  it('is one call with one count of fuel, with what is copied', async () => {
    const pool = await poolOf(SKILL);
    const call = (length: number) => (guest: Guest) =>
      callLifted(guest, { name: 'run', type: RUN }, ['abc', 'x'.repeat(length)]);
    const { fuelUsed } = pool.visit({}, call(800));
    expect(fuelUsed - pool.visit({}, call(0)).fuelUsed).toBe(2 * 100);
    expect(pool.visit({ fuel: fuelUsed }, call(800)).fuelUsed).toBe(fuelUsed);
    expect(refused(() => pool.visit({ fuel: fuelUsed - 1 }, call(800))).code).toBe('fuel');
  });
});

describe('the guest that callLifted() calls', () => {
  const HOST = loweredHost({
    module: 'world',
    name: 'note',
    type: { params: [['number', 'u32']], result: null },
    fuel: 1,
    run: () => undefined,
  });
  const NOTE = '(import "world" "note" (func $note (param i32)))';

  it('reaches the host from its export, never from its realloc', async () => {
    const type: WitFunction = { params: [['text', 'string']], result: null };
    const skill = (inside: string) => `${NOTE} (memory (export "memory") 1 1)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) ${inside} (i32.const 64))
      (func (export "run") (param i32 i32) (call $note (i32.const 1)))`;
    const call = (guest: Guest) => callLifted(guest, { name: 'run', type }, ['text']);
    const well = await poolOf(skill(''), [HOST]);
    expect(well.visit({}, call).value).toBeUndefined();
    const leaving = await poolOf(skill('(call $note (i32.const 2))'), [HOST]);
    expect(refused(() => leaving.visit({}, call))).toMatchObject({ code: 'trap', detail: 're-entered' });
  });

  it.each([
    ['outside', '(i32.const 65530)', { code: 'out-of-bounds' }],
    ['between two words', '(i32.const 3)', { code: 'trap', detail: 'alignment' }],
    [
      'with a case that is not there',
      '(i32.store8 (i32.const 64) (i32.const 2)) (i32.const 64)',
      { code: 'trap', detail: 'discriminant' },
    ],
    [
      'with text outside',
      '(i32.store (i32.const 68) (i32.const -1)) (i32.store (i32.const 72) (i32.const 8)) (i32.const 64)',
      { code: 'out-of-bounds' },
    ],
  ])('is stopped when it answers %s', async (_name, body, expected) => {
    const pool = await poolOf(
      `${REALLOC} (func (export "run") (param i32 i32 i32 i32) (result i32) ${body})`,
    );
    const error = refused(() =>
      pool.visit({}, (guest) => callLifted(guest, { name: 'run', type: RUN }, ['a', 'b'])),
    );
    expect(error).toMatchObject(expected);
  });

  it.each([
    ['has another result', '(func (export "run") (param i32 i32 i32 i32) (result i64) (i64.const 0))'],
    ['has no result', '(func (export "run") (param i32 i32 i32 i32))'],
    ['takes something else', '(func (export "run") (param i32) (result i32) (i32.const 0))'],
    ['is not there', ''],
  ])('is refused as export when its function %s', async (_name, run) => {
    const pool = await poolOf(`${REALLOC} ${run}`);
    expect(
      refused(() => pool.visit({}, (guest) => callLifted(guest, { name: 'run', type: RUN }, ['a', 'b'])))
        .code,
    ).toBe('export');
  });

  it('is not called with arguments that do not fit', async () => {
    const pool = await poolOf(SKILL);
    for (const args of [[], ['a'], ['a', 1], ['a', 'b', 'c']])
      expect(() => pool.visit({}, (guest) => callLifted(guest, { name: 'run', type: RUN }, args))).toThrow(
        TypeError,
      );
  });

  it('is one that an engine made', () => {
    expect(() => callLifted({} as Guest, { name: 'run', type: RUN }, ['a', 'b'])).toThrow(TypeError);
  });
});
