import { describe, expect, test } from 'vitest';
import { authorize, type Grant, spend } from '../../packages/gateway/src/policy/authorize.ts';
import {
  COUNT,
  checkedCall,
  DANGER,
  engineWith,
  FACTS,
  PERMIT_ALL,
} from '../../packages/gateway/test/policy/sample.ts';

function grantFor(text: string): Grant {
  const decision = authorize(engineWith(PERMIT_ALL), checkedCall(COUNT, { text }), FACTS);
  if (decision.verdict !== 'allow') throw new Error(decision.verdict);
  return decision.grant;
}

describe('a ticket that policy did not make', () => {
  test('is refused when its call was swapped for another', () => {
    const grant = grantFor('a');
    const swapped = { ...grant, call: checkedCall(DANGER, { text: '' }) };
    expect(() => spend(swapped)).toThrow('forged or already spent');
    expect(spend(grant).input).toEqual({ text: 'a' });
  });

  test('is refused when it is replayed, also after a failed forgery', () => {
    const grant = grantFor('a');
    spend(grant);
    expect(() => spend({ ...grant })).toThrow(TypeError);
    expect(() => spend(grant)).toThrow(TypeError);
  });

  test('is refused when it went through JSON', () => {
    const grant = grantFor('a');
    expect(() => spend(JSON.parse(JSON.stringify(grant)) as Grant)).toThrow(TypeError);
  });

  test('is not to be had by denying', () => {
    const decision = authorize(engineWith(''), checkedCall(COUNT, { text: '' }), FACTS);
    expect(decision).not.toHaveProperty('grant');
  });

  test('does not run another input than the one that was judged', () => {
    const checked = checkedCall(COUNT, { text: 'a' });
    const decision = authorize(engineWith(PERMIT_ALL), checked, FACTS);
    if (decision.verdict !== 'allow') throw new Error(decision.verdict);
    (checked as { input: unknown }).input = { text: 'other' };
    expect(spend(decision.grant).input).toEqual({ text: 'a' });
  });
});
