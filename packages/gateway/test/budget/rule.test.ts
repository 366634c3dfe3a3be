import { describe, expect, it } from 'vitest';
import { resetsAtMs, subjectsOf, windowStartMs } from '../../src/budget/rule.ts';
import { checkedCall, HOUR, MINUTE, NOON, rule } from './sample.ts';

describe('subjectsOf()', () => {
  it.each([
    ['principal', 'acme/agent:ada', 'agent:ada'],
    ['tool', 'acme/text.count', 'tool text.count'],
    ['tenant', 'acme', 'tenant acme'],
    ['run', 'acme/ses_1', 'session ses_1'],
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

  it('keys a rule per run by the session, whatever run the caller names', () => {
    const all = rule({ name: 'all', per: 'run', windowMs: null, calls: 5 });
    const subjects = ['nightly', 'another', null].map(
      (run) => subjectsOf([all], checkedCall({ run, session: 'ses_7' }))[0]?.subject,
    );
    expect(subjects).toEqual(['default/ses_7', 'default/ses_7', 'default/ses_7']);
  });

  it('compares a rule per run with the principal where its pattern has a colon, else with the label', () => {
    const named = (match: string) => rule({ name: match, per: 'run', windowMs: null, match, calls: 5 });
    const rules = [named('agent:*'), named('user:*'), named('night*'), named('day*'), named('*')];
    const namesOf = (run: string | null) =>
      subjectsOf(rules, checkedCall({ run })).map((each) => each.rule.name);
    expect(namesOf('nightly')).toEqual(['agent:*', 'night*', '*']);
    expect(namesOf(null)).toEqual(['agent:*', '*']);
  });

  it('keeps no account for a call without a session, which still falls under the rules of runs', () => {
    const all = rule({ name: 'all', per: 'run', windowMs: null, calls: 5 });
    const claims = subjectsOf([all], checkedCall({ session: null }));
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
