import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { flatSignatureOf } from '../../src/component/canonical/flat-signature.ts';
import { flattenLift, flattenLower } from '../../src/component/link/flat.ts';
import { writeWit } from '../../src/component/link/wit.ts';
import type { WitFunction } from '../../src/component/types.ts';
import { writeFunctionType } from '../../src/read/signature.ts';
import { anyType } from './typed-values.ts';

const anyFunction: fc.Arbitrary<WitFunction> = fc.record({
  params: fc
    .array(anyType, { maxLength: 6 })
    .map((all) => all.map((type, index) => [`p${index}`, type] as const)),
  result: fc.option(anyType, { nil: null }),
});

/** A core type as the text format has it. */
function signature(params: readonly string[], results: readonly string[]): string {
  return `(${params.join(', ')}) -> ${results.length === 1 ? results[0] : `(${results.join(', ')})`}`;
}

describe('the flat types of functions', () => {
  it('are those by which the host passes values, one way and the other', () => {
    fc.assert(
      fc.property(anyFunction, (type) => {
        const { flatParams, result, isResultInMemory } = flatSignatureOf(type);
        const results = result === null ? [] : result.flat;
        const lowered = isResultInMemory
          ? signature([...flatParams, 'i32'], [])
          : signature(flatParams, results);
        expect(writeFunctionType(flattenLower(type).type)).toBe(lowered);
        const lifted = signature(flatParams, isResultInMemory ? ['i32'] : results);
        expect(writeFunctionType(flattenLift(type).type)).toBe(lifted);
      }),
      { numRuns: volume(500, 30) },
    );
  });

  it('say when a memory and an allocator are needed', () => {
    const needs = (type: WitFunction) => {
      const [lower, lift] = [flattenLower(type), flattenLift(type)];
      return [lower.needsMemory, lower.needsRealloc, lift.needsMemory, lift.needsRealloc];
    };
    expect(needs({ params: [['x', 'u32']], result: 'f64' })).toEqual([false, false, false, false]);
    expect(needs({ params: [['x', 'string']], result: null })).toEqual([true, false, true, true]);
    expect(needs({ params: [], result: { kind: 'option', some: 'string' } })).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(needs({ params: [], result: { kind: 'tuple', elements: ['u8', 'u8'] } })).toEqual([
      true,
      false,
      true,
      false,
    ]);
    const many = Array.from({ length: 17 }, (_none, index) => [`p${index}`, 'u8'] as const);
    expect(needs({ params: many, result: null })).toEqual([true, false, true, true]);
  });
});

describe('writeWit()', () => {
  it('spells types as WIT does', () => {
    const type: WitFunction = {
      params: [
        ['a', { kind: 'result', ok: null, error: { kind: 'option', some: 'char' } }],
        ['b', { kind: 'borrow', resource: 'x:y/z@1.0.0/r' }],
        [
          'c',
          {
            kind: 'variant',
            cases: [
              ['one', 'u8'],
              ['two', null],
            ],
          },
        ],
      ],
      result: {
        kind: 'list',
        element: { kind: 'tuple', elements: ['string', { kind: 'flags', names: ['r', 'w'] }] },
      },
    };
    expect(writeWit(type)).toBe(
      'func(a: result<_, option<char>>, b: borrow<x:y/z@1.0.0/r>, c: variant { one(u8), two }) -> list<tuple<string, flags { r, w }>>',
    );
    expect(writeWit({ kind: 'enum', names: Array(1000).fill('long') }).length).toBeLessThan(500);
  });
});
