import { describe, expect, it } from 'vitest';
import { CEILINGS, DEFAULT_LIMITS, type Limits, narrowLimits } from '../src/limits.ts';

const keys = Object.keys(DEFAULT_LIMITS) as (keyof Limits)[];

describe('the limits', () => {
  it('have a ceiling for every default, and no default above it', () => {
    expect(Object.keys(CEILINGS)).toEqual(keys);
    for (const key of keys) {
      expect(Number.isSafeInteger(DEFAULT_LIMITS[key]), key).toBe(true);
      expect(DEFAULT_LIMITS[key], key).toBeLessThanOrEqual(CEILINGS[key]);
    }
  });

  it('cannot be changed in place', () => {
    expect(Object.isFrozen(DEFAULT_LIMITS)).toBe(true);
    expect(Object.isFrozen(CEILINGS)).toBe(true);
  });

  it('never admit a function that compiles for seconds', () => {
    expect(CEILINGS.locals).toBeLessThanOrEqual(5_000);
    expect(CEILINGS.functionWeight).toBeLessThanOrEqual(10_000_000);
  });
});

describe('narrowLimits()', () => {
  it('takes lower and equal numbers and keeps the rest', () => {
    const by = { fuel: 5, memoryBytes: DEFAULT_LIMITS.memoryBytes, imports: 0 };
    expect(narrowLimits(DEFAULT_LIMITS, by)).toEqual({ ...DEFAULT_LIMITS, ...by });
  });

  it('leaves the base alone and gives limits that cannot be changed', () => {
    const narrowed = narrowLimits(DEFAULT_LIMITS, { fuel: 5 });
    expect(DEFAULT_LIMITS.fuel).toBe(10_000_000);
    expect(Object.isFrozen(narrowed)).toBe(true);
  });

  it('cannot be undone by narrowing again', () => {
    const narrowed = narrowLimits(DEFAULT_LIMITS, { fuel: 5 });
    expect(() => narrowLimits(narrowed, { fuel: 6 })).toThrow(
      /fuel is 6, expected a whole number from 0 to 5/,
    );
  });

  it.each([
    ['more than the base', { memoryBytes: DEFAULT_LIMITS.memoryBytes + 1 }],
    ['infinity', { fuel: Infinity }],
    ['NaN', { fuel: NaN }],
    ['a negative number', { fuel: -1 }],
    ['a fraction', { fuel: 0.5 }],
    ['a text', { fuel: '5' }],
    ['undefined', { fuel: undefined }],
    ['null', { fuel: null }],
    ['a number as BigInt', { fuel: 5n }],
    ['a key that is misspelt', { memorybytes: 5 }],
    ['a key of every object', { toString: 5 }],
    ['a prototype in disguise', JSON.parse('{"__proto__": 5}')],
  ])('refuses %s', (_what, by) => {
    expect(() => narrowLimits(DEFAULT_LIMITS, by as Partial<Limits>)).toThrow(RangeError);
  });
});
