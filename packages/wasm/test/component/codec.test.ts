import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codecOf, layoutOf } from '../../src/component/canonical/codec-of.ts';
import type { WitType } from '../../src/component/types.ts';
import { WasmError } from '../../src/error.ts';
import type { GuestValue, NumberType } from '../../src/instance/value.ts';
import { refused } from '../instance/refused.ts';
import { poolOf, REALLOC, withContext } from './guest.ts';
import { alignOf, flatOf, Oracle, sizeOf, Trap } from './oracle.ts';
import { anyType, anyTyped } from './typed-values.ts';

const RUNS = { numRuns: 300 };
const pool = await poolOf(REALLOC);

describe('a type', () => {
  it('lies in memory and in core values as the oracle says', () => {
    fc.assert(
      fc.property(anyType, (type) => {
        expect(layoutOf(type)).toEqual({ size: sizeOf(type), align: alignOf(type), flat: flatOf(type) });
      }),
      RUNS,
    );
  });

  it.each<[string, WitType, number, number, readonly NumberType[]]>([
    [
      'a record with gaps',
      {
        kind: 'record',
        fields: [
          ['a', 'u8'],
          ['b', 'u64'],
          ['c', 'u16'],
        ],
      },
      24,
      8,
      ['i32', 'i64', 'i32'],
    ],
    [
      'a result of text and an enum',
      { kind: 'result', ok: 'string', error: { kind: 'enum', names: ['a', 'b'] } },
      12,
      4,
      ['i32', 'i32', 'i32'],
    ],
    [
      'a variant of a float and an integer',
      {
        kind: 'variant',
        cases: [
          ['a', 'f32'],
          ['b', 'u32'],
        ],
      },
      8,
      4,
      ['i32', 'i32'],
    ],
    [
      'a variant of a float and a wide integer',
      {
        kind: 'variant',
        cases: [
          ['a', 'f32'],
          ['b', 'u64'],
        ],
      },
      16,
      8,
      ['i32', 'i64'],
    ],
    ['an option of a byte', { kind: 'option', some: 'u8' }, 2, 1, ['i32', 'i32']],
    ['nine flags', { kind: 'flags', names: [...'abcdefghi'] }, 2, 2, ['i32']],
  ])('%s has the layout of the specification', (_name, type, size, align, flat) => {
    expect(layoutOf(type)).toEqual({ size, align, flat });
  });

  it.each<[string, WitType]>([
    ['an option of an option', { kind: 'option', some: { kind: 'option', some: 'u8' } }],
    ['no fields', { kind: 'record', fields: [] }],
    ['no elements', { kind: 'tuple', elements: [] }],
    ['no cases', { kind: 'variant', cases: [] }],
    ['no names', { kind: 'enum', names: [] }],
    ['33 flags', { kind: 'flags', names: Array.from({ length: 33 }, (_none, index) => `f${index}`) }],
  ])('with %s is refused', (_name, type) => {
    expect(() => layoutOf(type)).toThrow(TypeError);
  });
});

describe('a value', () => {
  const oracleOf = (context: { bytes: Uint8Array; allocate(size: number, align: number): number }) =>
    new Oracle(
      () => context.bytes,
      (size, align) => context.allocate(size, align),
    );

  it('that is lowered is the same for the oracle and the codec', () => {
    fc.assert(
      fc.property(anyTyped, ([type, value]) => {
        withContext(pool, (context) => {
          const codec = codecOf(type);
          const out: GuestValue[] = [];
          codec.lower(context, value, out);
          expect(out).toHaveLength(codec.flat.length);
          expect(oracleOf(context).lift(type, out)).toEqual(value);
          expect(codec.lift(context, out, 0)).toEqual(value);
        });
      }),
      RUNS,
    );
  });

  it('that is stored is the same for the oracle and the codec', () => {
    fc.assert(
      fc.property(anyTyped, ([type, value]) => {
        withContext(pool, (context) => {
          const codec = codecOf(type);
          const at = context.allocate(codec.size, codec.align);
          codec.store(context, at, value);
          expect(oracleOf(context).load(type, at)).toEqual(value);
          expect(codec.load(context, at)).toEqual(value);
        });
      }),
      RUNS,
    );
  });

  it('that the oracle lowered or stored is the same for the codec', () => {
    fc.assert(
      fc.property(anyTyped, ([type, value]) => {
        withContext(pool, (context) => {
          const codec = codecOf(type);
          const oracle = oracleOf(context);
          expect(codec.lift(context, oracle.lower(type, value), 0)).toEqual(value);
          const at = context.allocate(codec.size, codec.align);
          oracle.store(type, at, value);
          expect(codec.load(context, at)).toEqual(value);
        });
      }),
      RUNS,
    );
  });

  it.each<[WitType, unknown, bigint]>([
    ['s32', -1, 0xffff_ffffn],
    ['f32', 1, 0x3f80_0000n],
    ['f64', 1, 0x3ff0_0000_0000_0000n],
  ])('of type %s among wide ones has zeros above its own bits', (type, value, expected) => {
    const either: WitType = {
      kind: 'variant',
      cases: [
        ['own', type],
        ['wide', 'u64'],
      ],
    };
    const out: GuestValue[] = [];
    withContext(pool, (context) => codecOf(either).lower(context, { tag: 'own', value }, out));
    expect(out).toEqual([0, expected]);
  });

  it('that makes the guest’s memory grow many times is whole', () => {
    const type: WitType = { kind: 'list', element: { kind: 'tuple', elements: ['string', 'u64'] } };
    const value = Array.from({ length: 200 }, (_none, index) => ['é'.repeat(1_000), BigInt(index)]);
    const { value: back, peakMemoryBytes } = withContext(pool, (context) => {
      const out: GuestValue[] = [];
      codecOf(type).lower(context, value, out);
      return codecOf(type).lift(context, out, 0);
    });
    expect(back).toEqual(value);
    expect(peakMemoryBytes).toBeGreaterThan(400_000);
  });
});

describe('whatever lies in memory', () => {
  // Small numbers are what pointers, lengths and discriminants look like.
  const words = fc.array(fc.oneof({ weight: 4, arbitrary: fc.nat(40) }, fc.nat(70_000), fc.integer()), {
    minLength: 300,
    maxLength: 300,
  });

  it('is read as the oracle reads it, or ends the call as a WasmError where the oracle traps', () => {
    const endings = new Map<string, number>();
    fc.assert(
      fc.property(anyType, words, (type, numbers) => {
        const values = flatOf(type).map((flat, index) => coreOf(flat, numbers[index] ?? 0));
        for (const how of ['load', 'lift'] as const) {
          const { ours, theirs } = readBoth(type, numbers, how === 'load' ? undefined : values);
          const ending = ours instanceof WasmError ? ours.code : 'read';
          endings.set(ending, (endings.get(ending) ?? 0) + 1);
          // The oracle knows no fuel.
          if (ending === 'fuel') continue;
          if (ours instanceof WasmError) expect(theirs()).toBeInstanceOf(Trap);
          else expect(ours).toEqual(theirs());
        }
      }),
      RUNS,
    );
    expect([...endings.keys()].sort()).toEqual(expect.arrayContaining(['out-of-bounds', 'read', 'trap']));
    expect(endings.get('read')).toBeGreaterThan(30);
    expect(endings.get('trap')).toBeGreaterThan(30);
  });

  function coreOf(flat: NumberType, number: number): GuestValue {
    if (flat === 'i64') return BigInt(number);
    return flat === 'f32' ? Math.fround(number) : number;
  }

  /** What a memory that begins with these words reads as: at byte 64, or from core values. */
  function readBoth(type: WitType, numbers: readonly number[], values: readonly GuestValue[] | undefined) {
    let memory = new Uint8Array(0);
    const oracle = new Oracle(
      () => memory,
      () => 0,
    );
    const ours = caught(
      () =>
        withContext(
          pool,
          (context) => {
            numbers.forEach((each, index) => {
              context.view.setInt32(4 * index, each, true);
            });
            memory = context.bytes.slice();
            const codec = codecOf(type);
            return values === undefined ? codec.load(context, 64) : codec.lift(context, values, 0);
          },
          { fuel: 300_000 },
        ).value,
      WasmError,
    );
    const theirs = () =>
      caught(() => (values === undefined ? oracle.load(type, 64) : oracle.lift(type, values)), Trap);
    return { ours, theirs };
  }

  /** The value, or the error of that kind. */
  function caught(act: () => unknown, kind: typeof WasmError | typeof Trap): unknown {
    try {
      return act();
    } catch (error) {
      if (error instanceof kind) return error;
      throw error;
    }
  }
});

describe('a guest is stopped', () => {
  type Bad = [string, WitType, readonly GuestValue[], { code: string; detail?: string }];
  it.each<Bad>([
    ['over text outside of its memory', 'string', [65_530, 7], { code: 'out-of-bounds' }],
    ['over text that wraps around', 'string', [-1, 2], { code: 'out-of-bounds' }],
    ['over empty text outside', 'string', [65_537, 0], { code: 'out-of-bounds' }],
    ['over text that is too long', 'string', [0, -1], { code: 'trap', detail: 'length' }],
    ['over text that is not UTF-8', 'string', [0, 1], { code: 'trap', detail: 'utf-8' }],
    ['over half a surrogate pair as text', 'string', [8, 3], { code: 'trap', detail: 'utf-8' }],
    ['over half a surrogate pair', 'char', [0xd800], { code: 'trap', detail: 'char' }],
    ['over a character past the last one', 'char', [0x11_0000], { code: 'trap', detail: 'char' }],
    [
      'over a list between two words',
      { kind: 'list', element: 'u32' },
      [2, 1],
      { code: 'trap', detail: 'alignment' },
    ],
    [
      'over an empty list between two words',
      { kind: 'list', element: 'u32' },
      [2, 0],
      { code: 'trap', detail: 'alignment' },
    ],
    [
      'over a list that is too long',
      { kind: 'list', element: 'u64' },
      [0, 2 ** 26],
      { code: 'trap', detail: 'length' },
    ],
    ['over a list outside', { kind: 'list', element: 'u64' }, [65_528, 2], { code: 'out-of-bounds' }],
    ['over bytes outside', { kind: 'list', element: 'u8' }, [65_528, 9], { code: 'out-of-bounds' }],
    [
      'over a case that is not there',
      { kind: 'enum', names: ['a', 'b'] },
      [2],
      { code: 'trap', detail: 'discriminant' },
    ],
    [
      'over a case below zero',
      { kind: 'result', ok: null, error: null },
      [-1],
      { code: 'trap', detail: 'discriminant' },
    ],
    [
      'over an option that is neither',
      { kind: 'option', some: 'u8' },
      [2, 0],
      { code: 'trap', detail: 'discriminant' },
    ],
  ])('%s, also if the visit goes on', (_name, type, values, expected) => {
    const error = refused(() =>
      withContext(pool, (context) => {
        context.bytes.set([0xff, 0, 0, 0, 0, 0, 0, 0, 0xed, 0xa0, 0x80], 0);
        refused(() => codecOf(type).lift(context, values, 0));
        return 'well';
      }),
    );
    expect(error).toMatchObject(expected);
  });

  it.each([
    ['lies outside', '(i32.const -16)', 'out-of-bounds'],
    ['is not aligned', '(i32.const 1026)', 'trap'],
    ['begins at the end', '(i32.const 65536)', 'out-of-bounds'],
  ])('whose allocation %s', async (_name, allocation, code) => {
    const bad = await poolOf(`(memory (export "memory") 1 1)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) ${allocation})`);
    const error = refused(() =>
      withContext(bad, (context) => codecOf({ kind: 'list', element: 'u32' }).lower(context, [1, 2], [])),
    );
    expect(error.code).toBe(code);
  });

  it('that reads the same bytes by many lists, by its fuel', () => {
    // 8,000 lists, each of them the same 60,000 bytes: half a gigabyte if they were not counted.
    const type: WitType = { kind: 'list', element: { kind: 'list', element: 'u8' } };
    const error = refused(() =>
      withContext(
        pool,
        (context) => {
          for (let index = 0; index < 8_000; index += 1) context.view.setUint32(8 * index + 4, 60_000, true);
          return codecOf(type).lift(context, [0, 8_000], 0);
        },
        { fuel: 100_000 },
      ),
    );
    expect(error.code).toBe('fuel');
  });
});

describe('bits that mean nothing', () => {
  it.each<[string, WitType, readonly GuestValue[], unknown]>([
    ['any number but 0 is true', 'bool', [2], true],
    ['wide numbers are cut', 'u8', [0x1ff], 0xff],
    ['wide signed numbers are cut', 's16', [0x1_8000], -0x8000],
    ['an unsigned number is not below zero', 'u32', [-1], 0xffff_ffff],
    ['nor a wide one', 'u64', [-1n], 2n ** 64n - 1n],
    ['flags without a name are left out', { kind: 'flags', names: ['a', 'b'] }, [0xfe], ['b']],
    ['a handle is not below zero', { kind: 'own', resource: 'a' }, [-1], 0xffff_ffff],
  ])('%s', (_name, type, values, expected) => {
    expect(withContext(pool, (context) => codecOf(type).lift(context, values, 0)).value).toEqual(expected);
  });

  it('a NaN is the one that is written NaN, both ways', () => {
    const seen = withContext(pool, (context) => {
      context.view.setBigUint64(0, 0x7ff0_dead_beef_0001n, true);
      const value = codecOf('f64').load(context, 0);
      codecOf('f64').store(context, 8, value);
      return context.view.getBigUint64(8, true);
    });
    expect(seen.value).toBe(0x7ff8_0000_0000_0000n);
  });

  it('a lone surrogate of the host becomes U+FFFD', () => {
    const seen = withContext(pool, (context) => {
      const out: GuestValue[] = [];
      codecOf('string').lower(context, 'a\ud800b', out);
      return codecOf('string').lift(context, out, 0);
    });
    expect(seen.value).toBe('a\ufffdb');
  });
});

describe('a value of the host', () => {
  it.each<[WitType, unknown]>([
    ['bool', 1],
    ['u8', 256],
    ['s8', -129],
    ['u32', 1.5],
    ['u64', 1],
    ['u64', -1n],
    ['s64', 2n ** 63n],
    ['f64', '1'],
    ['char', 'ab'],
    ['char', '\ud800'],
    ['string', 7],
    [{ kind: 'list', element: 'u8' }, [1, 2]],
    [{ kind: 'list', element: 'u16' }, 'ab'],
    [{ kind: 'record', fields: [['a', 'u8']] }, { b: 1 }],
    [{ kind: 'tuple', elements: ['u8', 'u8'] }, [1]],
    [{ kind: 'enum', names: ['a'] }, 'b'],
    [{ kind: 'enum', names: ['a'] }, 'constructor'],
    [{ kind: 'flags', names: ['a'] }, ['b']],
    [{ kind: 'variant', cases: [['a', 'u8']] }, { tag: 'toString' }],
    [{ kind: 'result', ok: null, error: null }, Promise.resolve()],
    [{ kind: 'own', resource: 'a' }, -1],
  ])('is refused as %j when it is of another kind (%#)', (type, value) => {
    expect(() => withContext(pool, (context) => codecOf(type).lower(context, value, []))).toThrow(TypeError);
  });
});

describe('fuel', () => {
  const spent = (type: WitType, value: unknown) =>
    withContext(pool, (context, guest) => {
      const out: GuestValue[] = [];
      codecOf(type).lower(context, value, out);
      const before = guest.fuelLeft();
      codecOf(type).lift(context, out, 0);
      return before - guest.fuelLeft();
    }).value;

  it.each<[string, WitType, unknown, number]>([
    ['80 bytes of text', 'string', 'x'.repeat(80), 10],
    ['81 bytes', { kind: 'list', element: 'u8' }, new Uint8Array(81), 11],
    ['ten words', { kind: 'list', element: 'u32' }, Array(10).fill(1), 10 + 5],
    ['two texts of a list', { kind: 'list', element: 'string' }, ['x'.repeat(8), 'y'], 2 + 2 + 1 + 1],
    ['a number', 'u32', 1, 0],
  ])('is taken for %s', (_name, type, value, expected) => {
    expect(spent(type, value)).toBe(expected);
  });
});
