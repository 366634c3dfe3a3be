import { describe, expect, it } from 'vitest';
import { loweredHost, type WorldHost } from '../../src/component/canonical/lowered-host.ts';
import type { WitFunction, WitType } from '../../src/component/types.ts';
import type { Guest } from '../../src/instance/guest.ts';
import type { Pool } from '../../src/instance/pool.ts';
import { refused } from '../instance/refused.ts';
import { poolOf, REALLOC } from './guest.ts';

type Run = WorldHost['run'];

const row = (type: WitFunction, run: Run) =>
  loweredHost({ module: 'world', name: 'ask', type, fuel: 5, run });

/** A pool whose guest has the function as `$ask`, and `run` with this body. */
function asking(type: WitFunction, run: Run, body: string, realloc = REALLOC): Promise<Pool> {
  const host = row(type, run);
  const list = (name: string, types: readonly string[]) =>
    types.length === 0 ? '' : `(${name} ${types.join(' ')})`;
  return poolOf(
    `(import "world" "ask" (func $ask ${list('param', host.params)} ${list('result', host.results)})) ${realloc}
     (data (i32.const 64) "hello") (data (i32.const 80) "\\ff")
     (func (export "run") (result i32) ${body})`,
    [host],
  );
}

const TEXT_TO_TEXT: WitFunction = { params: [['text', 'string']], result: 'string' };
const CALL_WITH_TEXT = '(call $ask (i32.const 64) (i32.const 5) (i32.const 16)) (i32.const 0)';

describe('loweredHost()', () => {
  const many = (count: number): WitFunction => ({
    params: Array.from({ length: count }, (_none, index) => [`p${index}`, 'u32']),
    result: null,
  });
  const failure: WitType = { kind: 'record', fields: [['code', 'string']] };

  it.each<[string, WitFunction, string, string]>([
    ['nothing', { params: [], result: null }, '', ''],
    [
      'a number',
      {
        params: [
          ['a', 's64'],
          ['b', 'f32'],
        ],
        result: 'u8',
      },
      'i64 f32',
      'i32',
    ],
    ['text', TEXT_TO_TEXT, 'i32 i32 i32', ''],
    ['sixteen values', many(16), 'i32 '.repeat(16).trim(), ''],
    ['seventeen values, in memory', many(17), 'i32', ''],
    ['a result of text', { params: [], result: { kind: 'result', ok: 'string', error: failure } }, 'i32', ''],
  ])('has the flat signature for %s', (_name, type, params, results) => {
    const host = row(type, () => undefined);
    expect([host.params.join(' '), host.results.join(' ')]).toEqual([params, results]);
  });

  it('passes values to the function and its result to the guest', async () => {
    const seen: unknown[] = [];
    const run = (_guest: Guest, text: unknown) => {
      seen.push(text);
      return `${text} world`;
    };
    const pool = await asking(
      TEXT_TO_TEXT,
      run,
      `(call $ask (i32.const 64) (i32.const 5) (i32.const 16))
       (i32.add (i32.mul (i32.load (i32.const 20)) (i32.const 1000)) (i32.load8_u offset=10 (i32.load (i32.const 16))))`,
    );
    expect(pool.run('run').results).toEqual([11_000 + 'd'.charCodeAt(0)]);
    expect(seen).toEqual(['hello']);
  });

  it('takes parameters from memory where they are many', async () => {
    const seen: unknown[][] = [];
    const pool = await asking(
      many(17),
      (_guest, ...args) => {
        seen.push(args);
      },
      '(i32.store offset=64 (i32.const 256) (i32.const 9)) (call $ask (i32.const 256)) (i32.const 0)',
    );
    pool.run('run');
    expect(seen).toEqual([[...Array(16).fill(0), 9]]);
  });

  it('passes numbers without a copy', async () => {
    const type: WitFunction = {
      params: [
        ['a', 's8'],
        ['b', 'bool'],
      ],
      result: 's16',
    };
    const pool = await asking(
      type,
      (_guest, a, b) => (b === true ? Number(a) * 2 : 0),
      '(call $ask (i32.const 0xff) (i32.const 2))',
    );
    expect(pool.run('run').results).toEqual([-2]);
  });

  it('takes fuel for what is copied both ways', async () => {
    const cost = async (answer: string) => {
      const pool = await asking(TEXT_TO_TEXT, () => answer, CALL_WITH_TEXT);
      return pool.run('run').fuelUsed;
    };
    expect((await cost('x'.repeat(800))) - (await cost(''))).toBe(100);
  });

  it('takes the same bytes many times, and no more than the memory and a share', async () => {
    const parts: WitType = { kind: 'list', element: { kind: 'list', element: 'u8' } };
    const type: WitFunction = { params: [['parts', parts]], result: 'u32' };
    // Each has 60,000 bytes at the same address; the list of them begins at 1,024.
    const repeating = (count: number) =>
      asking(
        type,
        (_guest, taken) => (taken as readonly Uint8Array[]).length,
        `(local $n i32)
         (loop $again
           (i32.store offset=1028 (i32.mul (local.get $n) (i32.const 8)) (i32.const 60000))
           (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const ${count}))))
         (call $ask (i32.const 1024) (i32.const ${count}))`,
      );
    expect((await repeating(200)).run('run').results).toEqual([200]);
    const pool = await repeating(400);
    expect(refused(() => pool.run('run'))).toMatchObject({ code: 'trap', detail: 'length' });
  });

  it('lets the guest grow its memory while it allocates', async () => {
    const pool = await asking(
      TEXT_TO_TEXT,
      () => 'x'.repeat(200_000),
      `${CALL_WITH_TEXT} drop (i32.load8_u offset=199999 (i32.load (i32.const 16)))`,
    );
    expect(pool.run('run').results).toEqual(['x'.charCodeAt(0)]);
  });
});

describe('a function that calls the guest itself', () => {
  it('finds its result in the memory that grew meanwhile', async () => {
    const type: WitFunction = { params: [], result: { kind: 'tuple', elements: ['u32', 'u32'] } };
    const pool = await asking(
      type,
      (guest) => {
        guest.call('realloc', 0, 0, 1, 200_000);
        return [1, 2];
      },
      '(call $ask (i32.const 16)) (i32.load (i32.const 20))',
    );
    expect(pool.run('run').results).toEqual([2]);
  });
});

describe('a guest that passes an invalid value', () => {
  it.each([
    [
      'text that is not UTF-8',
      '(i32.const 80) (i32.const 1) (i32.const 16)',
      { code: 'trap', detail: 'utf-8' },
    ],
    ['text outside', '(i32.const -8) (i32.const 5) (i32.const 16)', { code: 'out-of-bounds' }],
    [
      'a result between two words',
      '(i32.const 64) (i32.const 5) (i32.const 17)',
      { code: 'trap', detail: 'alignment' },
    ],
    ['a result outside', '(i32.const 64) (i32.const 5) (i32.const 65532)', { code: 'out-of-bounds' }],
  ])('as %s is stopped before the function runs', async (_name, values, expected) => {
    let runs = 0;
    const pool = await asking(
      TEXT_TO_TEXT,
      () => {
        runs += 1;
        return '';
      },
      `(call $ask ${values}) (i32.const 0)`,
    );
    expect(refused(() => pool.run('run'))).toMatchObject(expected);
    expect(runs).toBe(0);
  });

  it.each([
    ['panics', 'unreachable', { code: 'unreachable' }],
    [
      'calls the host',
      '(call $ask (i32.const 64) (i32.const 5) (i32.const 16)) (i32.const 0)',
      { code: 'trap', detail: 're-entered' },
    ],
    ['runs for ever', '(loop (br 0)) (i32.const 0)', { code: 'fuel' }],
    ['returns an address outside', '(i32.const -1)', { code: 'out-of-bounds' }],
  ])('is stopped when its realloc %s', async (_name, body, expected) => {
    const realloc = `(memory (export "memory") 1 1)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) ${body})`;
    const pool = await asking(TEXT_TO_TEXT, () => 'answer', CALL_WITH_TEXT, realloc);
    expect(refused(() => pool.run('run', [], { fuel: 100_000 }))).toMatchObject(expected);
  });
});

describe('a function that returns an invalid value', () => {
  it.each<[string, WitFunction, unknown]>([
    ['another type', TEXT_TO_TEXT, 7],
    ['a promise', TEXT_TO_TEXT, Promise.resolve('')],
    [
      'something for nothing',
      {
        params: [
          ['text', 'string'],
          ['more', 'u32'],
        ],
        result: null,
      },
      Promise.resolve(),
    ],
  ])('%s ends the call as host', async (_name, type, given) => {
    const pool = await asking(type, () => given, CALL_WITH_TEXT);
    const error = refused(() => pool.run('run'));
    expect(error.code).toBe('host');
    expect(error.cause).toBeInstanceOf(TypeError);
  });
});
