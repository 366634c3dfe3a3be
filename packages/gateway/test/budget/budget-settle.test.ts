import { describe, expect, it } from 'vitest';
import { balances } from '../../src/budget/balances.ts';
import { prune, reserve, settle } from '../../src/budget/budget.ts';
import { budgetMigrations } from '../../src/budget/rule.ts';
import type { BudgetRule } from '../../src/config/config.ts';
import { NO_USAGE, type Usage } from '../../src/core/limits.ts';
import { reservations } from './reservations.ts';
import { checkedCall, HOUR, NOON, rule } from './sample.ts';
import { openStore, tempDir } from './temp-store.ts';

const DAY = 24 * HOUR;
const LIMITS = { wallMs: 100, cpuMs: 100, fuel: 100, outputBytes: 100, egressBytes: 100 };

function world(...rules: BudgetRule[]) {
  const store = openStore(tempDir(), budgetMigrations);
  return {
    store,
    hold: (callId: string, nowMs = NOON) =>
      store.transact((tx) => reserve(tx, { callId, rules, checked: checkedCall({ limits: LIMITS }), nowMs })),
    settle: (callId: string, usage: Usage | 'as-reserved') =>
      store.transact((tx) => settle(tx, callId, usage)),
    fuel: (nowMs = NOON) =>
      balances(store, { rules, nowMs, limit: 10 }).map(({ budget, units }) => {
        const { spent, reserved, limit, left } = units.find(({ unit }) => unit === 'fuel') ?? {};
        return { budget, spent, reserved, limit, left };
      }),
  };
}

describe('settle()', () => {
  it('charges what was really used and gives the rest back', () => {
    const { hold, settle: settled, fuel, store } = world(rule({ name: 'any', fuel: 1_000 }));
    hold('call_1');
    expect(fuel()).toEqual([{ budget: 'any', spent: 0, reserved: 100, limit: 1_000, left: 900 }]);
    const usage = { ...NO_USAGE, calls: 1, fuel: 7 };
    expect(settled('call_1', usage)).toEqual(usage);
    expect(fuel()).toEqual([{ budget: 'any', spent: 7, reserved: 0, limit: 1_000, left: 993 }]);
    expect(reservations(store)).toEqual([]);
  });

  it('charges every budget of the call', () => {
    const {
      hold,
      settle: settled,
      fuel,
    } = world(rule({ name: 'a', fuel: 500 }), rule({ name: 'b', per: 'tool', calls: 5 }));
    hold('call_1');
    settled('call_1', { ...NO_USAGE, calls: 1, fuel: 9 });
    expect(fuel().map(({ budget, spent, limit }) => [budget, spent, limit])).toEqual([
      ['a', 9, 500],
      ['b', 9, null],
    ]);
  });

  it('charges all that was held when the ending is unknown', () => {
    const { hold, settle: settled, fuel } = world(rule({ name: 'any', fuel: 1_000 }));
    hold('call_1');
    expect(settled('call_1', 'as-reserved')).toEqual({ calls: 1, ...LIMITS });
    expect(fuel()).toMatchObject([{ spent: 100, reserved: 0 }]);
  });

  it('changes nothing for a call that was settled before or never reserved', () => {
    const { hold, settle: settled, fuel } = world(rule({ name: 'any', fuel: 1_000 }));
    hold('call_1');
    settled('call_1', { ...NO_USAGE, calls: 1, fuel: 3 });
    expect(settled('call_1', { ...NO_USAGE, calls: 1, fuel: 3 })).toEqual(NO_USAGE);
    expect(settled('call_1', 'as-reserved')).toEqual(NO_USAGE);
    expect(settled('call_2', 'as-reserved')).toEqual(NO_USAGE);
    expect(fuel()).toMatchObject([{ spent: 3, reserved: 0 }]);
  });

  it('charges nothing for a call that was refused after it had reserved', () => {
    const { hold, settle: settled, fuel } = world(rule({ name: 'any', fuel: 1_000 }));
    hold('call_1');
    settled('call_1', NO_USAGE);
    expect(fuel()).toMatchObject([{ spent: 0, reserved: 0, left: 1_000 }]);
  });

  it('charges a usage beyond what was held in full', () => {
    const { hold, settle: settled, fuel } = world(rule({ name: 'any', fuel: 150 }));
    hold('call_1');
    settled('call_1', { ...NO_USAGE, calls: 1, fuel: 160 });
    expect(fuel()).toMatchObject([{ spent: 160, left: 0 }]);
    expect(hold('call_2')).toMatchObject({ ok: false, problem: { code: 'budget/fuel-exhausted' } });
  });

  it.each([
    ['NaN', Number.NaN, 100],
    ['a negative number', -5, 100],
    ['infinity', Number.POSITIVE_INFINITY, 100],
    ['a part of a unit', 0.2, 1],
  ])('charges a usage of %s so that it is never free', (_, fuelUsed, charged) => {
    const { hold, settle: settled } = world(rule({ name: 'any', fuel: 1_000 }));
    hold('call_1');
    expect(settled('call_1', { ...NO_USAGE, calls: 1, fuel: fuelUsed }).fuel).toBe(charged);
  });

  it('charges the window in which the call started', () => {
    const { hold, settle: settled, fuel } = world(rule({ name: 'any', fuel: 1_000 }));
    hold('call_1', NOON - 1);
    hold('call_2', NOON);
    settled('call_1', { ...NO_USAGE, calls: 1, fuel: 8 });
    expect(fuel(NOON)).toMatchObject([{ spent: 0, reserved: 100 }]);
    expect(fuel(NOON - 1)).toContainEqual({ budget: 'any', spent: 8, reserved: 0, limit: 1_000, left: 992 });
  });

  it('finds what a gateway held before it was started anew', async () => {
    const directory = tempDir();
    const rules = [rule({ name: 'any', fuel: 1_000 })];
    const before = openStore(directory, budgetMigrations);
    await before.commit((tx) =>
      reserve(tx, { callId: 'call_1', rules, checked: checkedCall(), nowMs: NOON }),
    );
    const after = openStore(directory, budgetMigrations);
    expect(reservations(after)).toMatchObject([
      { callId: 'call_1', budget: 'any', subject: 'default/agent:ada' },
    ]);
    after.transact((tx) => settle(tx, 'call_1', 'as-reserved'));
    expect(reservations(before)).toEqual([]);
  });
});

describe('balances()', () => {
  it('shows no limit for an account whose budget is gone from the configuration', () => {
    const { store, hold } = world(rule({ name: 'old', calls: 5 }));
    hold('call_1');
    const [balance] = balances(store, { rules: [], nowMs: NOON, limit: 10 });
    expect(balance).toMatchObject({ budget: 'old', subject: 'default/agent:ada', resetsAtMs: NOON + HOUR });
    expect(balance?.units[0]).toEqual({ unit: 'calls', spent: 0, reserved: 1, limit: null, left: null });
  });

  it('leaves out windows that ended and hold nothing, and no more than asked for', () => {
    const { store, hold, settle: settled } = world(rule({ name: 'a' }), rule({ name: 'b', per: 'tool' }));
    hold('call_1');
    const requested = { rules: [], nowMs: NOON + HOUR, limit: 10 };
    expect(balances(store, requested)).toHaveLength(2);
    expect(balances(store, { ...requested, limit: 1 })).toHaveLength(1);
    settled('call_1', 'as-reserved');
    expect(balances(store, requested)).toEqual([]);
  });
});

describe('prune()', () => {
  const hourly = rule({ name: 'hourly', calls: 9 });
  const whole = rule({ name: 'whole', per: 'run', windowMs: null, calls: 9 });

  it.each([
    ['an account two windows after its window', hourly, NOON + 3 * HOUR, 0],
    ['an account more than two windows after its window', hourly, NOON + 3 * HOUR + 1, 1],
    ['a run untouched for 30 days', whole, NOON + 30 * DAY, 0],
    ['a run untouched for more than 30 days', whole, NOON + 30 * DAY + 1, 1],
  ])('looks at %s', (_, only, nowMs, expected) => {
    const { store, hold, settle: settled } = world(only);
    hold('call_1');
    settled('call_1', 'as-reserved');
    expect(store.transact((tx) => prune(tx, nowMs))).toBe(expected);
  });

  it('never forgets an account on which something is held', () => {
    const { store, hold, settle: settled } = world(hourly, whole);
    hold('call_1');
    expect(store.transact((tx) => prune(tx, NOON + 365 * DAY))).toBe(0);
    settled('call_1', 'as-reserved');
    expect(store.transact((tx) => prune(tx, NOON + 365 * DAY))).toBe(2);
  });
});
