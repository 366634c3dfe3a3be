import { describe, expect, test } from 'vitest';
import { authorize, type Grant, spend } from '../../src/policy/authorize.ts';
import { COUNT, checkedCall, engineWith, FACTS, PERMIT_ALL } from './sample.ts';

function makeOne(): Grant {
  const decision = authorize(engineWith(PERMIT_ALL), checkedCall(COUNT, { text: '' }), FACTS);
  if (decision.verdict !== 'allow') throw new Error(decision.verdict);
  return decision.grant;
}

describe('a grant', () => {
  test('is spent once', () => {
    const grant = makeOne();
    expect(spend(grant).tool.id).toBe('text.count');
    expect(() => spend(grant)).toThrow('forged or already spent');
  });

  test('cannot be forged, copied or inherited from', () => {
    const grant = makeOne();
    const forged = [
      { ...grant },
      Object.create(grant),
      structuredClone({ ...grant, call: null }),
      new Proxy(grant, {}),
    ];
    for (const one of forged) expect(() => spend(one as Grant)).toThrow(TypeError);
    expect(spend(grant)).toBeDefined();
  });

  test('cannot be changed after it was made', () => {
    const grant = makeOne() as { -readonly [K in keyof Grant]: Grant[K] };
    expect(() => {
      grant.call = checkedCall(COUNT, { text: 'other' });
    }).toThrow(TypeError);
    expect(() => Object.assign(grant.limits, { wallMs: 1e9 })).toThrow(TypeError);
    expect(() => Object.assign(grant.call, { input: { text: 'other' } })).toThrow(TypeError);
  });

  test('is made by authorize.ts alone, which does not export its maker', async () => {
    const exported = Object.keys(await import('../../src/policy/authorize.ts'));
    expect(exported).toContain('spend');
    expect(exported.filter((name) => /make|unspent/i.test(name))).toEqual([]);
  });
});
