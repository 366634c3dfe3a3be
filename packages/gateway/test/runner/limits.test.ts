import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProcessLimits } from '../../src/core/process.ts';
import { DEFAULT_SETTINGS } from '../../src/runner/settings.ts';
import { meetLimits } from '../../src/runner/terms.ts';
import { ask, makeHost } from './sample.ts';

const { defaults, ceilings } = DEFAULT_SETTINGS;
const TERMS = Object.keys(ceilings) as (keyof ProcessLimits)[];
const BAD = [
  0,
  -0,
  -1,
  0.5,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  2 ** 53,
  1e308,
];

describe('meetLimits()', () => {
  it.each(TERMS)('refuses every number that is no limit for %s (B5)', (term) => {
    for (const value of BAD) {
      expect(() => meetLimits({ [term]: value }, DEFAULT_SETTINGS), String(value)).toThrow(
        'expected a whole number',
      );
    }
    expect(meetLimits({ [term]: 1 }, DEFAULT_SETTINGS)[term]).toBe(1);
  });

  it('gives the default where nothing is asked, and lowers what is above a ceiling', () => {
    expect(meetLimits({}, DEFAULT_SETTINGS)).toEqual(defaults);
    expect(meetLimits({ wallMs: Number.MAX_SAFE_INTEGER }, DEFAULT_SETTINGS).wallMs).toBe(ceilings.wallMs);
    const tight = { defaults, ceilings: { ...ceilings, cpuMs: 10 } };
    expect(meetLimits({}, tight).cpuMs).toBe(10);
  });

  it('refuses a term that it does not know, and settings that are no limits', () => {
    expect(() => meetLimits({ time: 1 } as Partial<ProcessLimits>, DEFAULT_SETTINGS)).toThrow('unknown');
    const broken = { defaults, ceilings: { ...ceilings, wallMs: Number.NaN } };
    expect(() => meetLimits({}, broken)).toThrow('wallMs');
  });

  it('never gives more than the ceiling, less than one, or a fraction', () => {
    const requested = fc.record(
      Object.fromEntries(
        TERMS.map((term) => [term, fc.oneof(fc.double(), fc.maxSafeInteger(), fc.constantFrom(...BAD))]),
      ),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(requested, (wish) => {
        let met: ProcessLimits;
        try {
          met = meetLimits(wish, DEFAULT_SETTINGS);
        } catch {
          return;
        }
        for (const term of TERMS) {
          expect(Number.isSafeInteger(met[term]) && met[term] >= 1 && met[term] <= ceilings[term]).toBe(true);
        }
      }),
    );
  });
});

describe('termsOf()', () => {
  it('says which limit is none', () => {
    const result = ask(makeHost(), { limits: { wallMs: -1 } });
    expect(result).toMatchObject({
      ok: false,
      code: 'runner/invalid-limits',
      message: expect.stringContaining('wallMs'),
    });
  });
});
