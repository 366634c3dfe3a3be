import { describe, expect, it } from 'vitest';
import { resetsAtMs, subjectsOf, windowStartMs } from '../../src/budget/rule.ts';
import { checkedCall, HOUR, MINUTE, NOON, rule } from './sample.ts';

describe('subjectsOf()', () => {
  it.each([
    ['principal', 'acme/agent:ada', 'agent:ada'],
    ['tool', 'acme/text.count', 'tool text.count'],
    ['tenant', 'acme', 'tenant acme'],
    ['run', 'acme/nightly', 'run nightly'],
  ] as const)('keys a rule per %s by the tenant, as %j', (per, subject, title) => {
    const only = rule({ name: 'only', per, calls: 1 });
    expect(subjectsOf([only], checkedCall({ tenant: 'acme' }))).toEqual([{ rule: only, subject, title }]);
  });

  it('applies a rule only where its pattern fits the subject', () => {
    const agents = rule({ name: 'agents', match: 'agent:*' });
    const users = rule({ name: 'users', match: 'user:*' });
    const texts = rule({ name: 'texts', per: 'tool', match: 'text.*' });
    const claims = subjectsOf([agents, users, texts], checkedCall());
    expect(claims.map((claim) => claim.rule.name)).toEqual(['agents', 'texts']);
  });

  it('keeps no account for a call without a run, which still falls under the rules of runs', () => {
    const all = rule({ name: 'all', per: 'run', windowMs: null, calls: 5 });
    const some = rule({ name: 'some', per: 'run', windowMs: null, match: 'night*', calls: 5 });
    const claims = subjectsOf([all, some], checkedCall({ run: null }));
    expect(claims.map(({ rule: { name }, subject }) => [name, subject])).toEqual([['all', null]]);
  });
});

describe('windows', () => {
  it('start at whole multiples of their length and end where the next starts', () => {
    const hourly = rule({ name: 'hourly', windowMs: HOUR });
    for (const nowMs of [NOON, NOON + 1, NOON + HOUR - 1]) {
      expect(windowStartMs(hourly, nowMs)).toBe(NOON);
      expect(resetsAtMs(hourly, nowMs)).toBe(NOON + HOUR);
    }
    expect(windowStartMs(hourly, NOON + HOUR)).toBe(NOON + HOUR);
    expect(windowStartMs(rule({ name: 'odd', windowMs: 7 * MINUTE }), NOON)).toBeLessThanOrEqual(NOON);
  });

  it('do not exist for a rule over the whole run', () => {
    const whole = rule({ name: 'whole', per: 'run', windowMs: null });
    expect(windowStartMs(whole, NOON)).toBe(0);
    expect(resetsAtMs(whole, NOON)).toBeNull();
  });
});
