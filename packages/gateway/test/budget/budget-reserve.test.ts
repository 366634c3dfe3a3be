import { describe, expect, it } from 'vitest';
import { balances } from '../../src/budget/balances.ts';
import { left, reserve, settle } from '../../src/budget/budget.ts';
import { budgetMigrations, UNITS } from '../../src/budget/rule.ts';
import type { BudgetRule } from '../../src/config/config.ts';
import type { CheckedCall } from '../../src/core/checked-call.ts';
import { NO_USAGE } from '../../src/core/limits.ts';
import type { Store } from '../../src/store/store.ts';
import { reservations } from './reservations.ts';
import { checkedCall, HOUR, NOON, rule } from './sample.ts';
import { openStore, tempDir } from './temp-store.ts';

const ONE_CALL = { ...NO_USAGE, calls: 1 };

function world(...rules: BudgetRule[]) {
  const store = openStore(tempDir(), budgetMigrations);
  let count = 0;
  const tryCall = (checked: CheckedCall = checkedCall(), nowMs = NOON) => {
    const callId = `call_${++count}`;
    const reserved = store.transact((tx) => reserve(tx, { callId, rules, checked, nowMs }));
    return { callId, reserved };
  };
  return { store, rules, tryCall };
}

function spend(store: Store, callId: string, usage = ONE_CALL) {
  return store.transact((tx) => settle(tx, callId, usage));
}

describe('reserve()', () => {
  it('lets as many calls run as the budget has, and tells the next one when it resets', () => {
    const { store, tryCall } = world(rule({ name: 'principal-hour', calls: 2 }));
    for (let i = 0; i < 2; i++) spend(store, tryCall().callId);
    expect(tryCall(checkedCall(), NOON + HOUR - 1).reserved).toEqual({
      ok: false,
      problem: {
        status: 'refused',
        code: 'budget/calls-exhausted',
        message:
          'Cannot run call: budget "principal-hour" of agent:ada has 0 of 2 calls left, resets at 2026-05-01T13:00:00.000Z',
        remedy: 'Wait until the budget resets, or raise it in palisade.toml.',
      },
    });
    expect(tryCall(checkedCall(), NOON + HOUR).reserved.ok).toBe(true);
  });

  it('says how much is held by running calls, and that a run never resets', () => {
    const { tryCall } = world(rule({ name: 'run', per: 'run', windowMs: null, calls: 1 }));
    tryCall();
    const { reserved } = tryCall();
    expect(reserved).toMatchObject({
      ok: false,
      problem: {
        message:
          'Cannot run call: budget "run" of session ses_1 has 0 of 1 calls left (1 held by running calls), never resets',
        remedy:
          'Wait for the running calls to end, or have an operator run `palisade session end ses_1`, which begins a new one, or raise it in palisade.toml.',
      },
    });
  });

  it.each(UNITS)('refuses with $code when a budget of $column is used up', ({ unit, code, noun }) => {
    const { store, tryCall } = world(rule({ name: 'tight', [unit]: 10 }));
    spend(store, tryCall().callId, { ...NO_USAGE, [unit]: 10 });
    const { reserved } = tryCall();
    expect(reserved).toMatchObject({ ok: false, problem: { code } });
    if (!reserved.ok) expect(reserved.problem.message).toContain(`has 0 of 10 ${noun} left`);
  });

  it('narrows the limits of the call to the least that any budget leaves, and never widens one', () => {
    const { tryCall, store } = world(
      rule({ name: 'wide', fuel: 5_000, outputBytes: 900 }),
      rule({ name: 'narrow', per: 'tool', fuel: 700, wallMs: 1_000_000 }),
    );
    const checked = checkedCall({ limits: { fuel: 9_000, wallMs: 50 } });
    expect(tryCall(checked).reserved).toEqual({
      ok: true,
      value: { ...checked.limits, fuel: 700, outputBytes: 900, wallMs: 50 },
    });
    for (const { amounts } of reservations(store)) {
      expect(amounts).toMatchObject({ calls: 1, fuel: 700, outputBytes: 900, wallMs: 50 });
    }
  });

  it('writes nothing to any account when one of them refuses', () => {
    const { store, rules, tryCall } = world(
      rule({ name: 'plenty', calls: 100 }),
      rule({ name: 'nothing', per: 'tenant', calls: 0 }),
    );
    expect(tryCall().reserved.ok).toBe(false);
    expect(balances(store, { rules, nowMs: NOON, limit: 10 })).toEqual([]);
    expect(reservations(store)).toEqual([]);
  });

  it('does not refuse for a unit of which the call can use nothing', () => {
    const { store, tryCall } = world(rule({ name: 'network', egressBytes: 10 }));
    spend(store, tryCall().callId, { ...ONE_CALL, egressBytes: 10 });
    expect(tryCall(checkedCall({ limits: { egressBytes: 0 } })).reserved.ok).toBe(true);
    expect(tryCall(checkedCall({ limits: { egressBytes: 1 } })).reserved.ok).toBe(false);
  });

  it('keeps tenants, principals and runs apart', () => {
    const apart = [
      checkedCall(),
      checkedCall({ tenant: 'acme' }),
      checkedCall({ principal: { kind: 'user', name: 'ada' } }),
      checkedCall({ principal: { kind: 'agent', name: 'bob' } }),
    ];
    const { tryCall } = world(rule({ name: 'once', calls: 1 }));
    for (const checked of apart) expect(tryCall(checked).reserved.ok).toBe(true);
    for (const checked of apart) expect(tryCall(checked).reserved.ok).toBe(false);
  });

  it('only narrows a call without a session, however often it is called', () => {
    const { store, tryCall } = world(rule({ name: 'run', per: 'run', windowMs: null, calls: 1, fuel: 40 }));
    for (let i = 0; i < 3; i++) {
      expect(tryCall(checkedCall({ session: null })).reserved).toMatchObject({
        ok: true,
        value: { fuel: 40 },
      });
    }
    expect(reservations(store)).toEqual([]);
  });

  it('refuses a call without a session under a run budget of no calls', () => {
    const { tryCall } = world(rule({ name: 'run', per: 'run', windowMs: null, calls: 0 }));
    expect(tryCall(checkedCall({ session: null })).reserved.ok).toBe(false);
  });

  it('holds a part of a unit as a whole one', () => {
    const { store, tryCall } = world(rule({ name: 'time', wallMs: 10 }));
    expect(tryCall(checkedCall({ limits: { wallMs: 2.5 } })).reserved).toMatchObject({
      value: { wallMs: 2.5 },
    });
    expect(reservations(store)[0]?.amounts.wallMs).toBe(3);
  });

  it('does not take a call twice', () => {
    const { store, rules } = world(rule({ name: 'any', calls: 9 }));
    const reserving = { callId: 'call_same', rules, checked: checkedCall(), nowMs: NOON };
    store.transact((tx) => reserve(tx, reserving));
    expect(() => store.transact((tx) => reserve(tx, reserving))).toThrow(/UNIQUE/);
    expect(reservations(store)).toHaveLength(1);
  });
});

describe('left()', () => {
  it('gives the least of all budgets that apply, less what is spent and held', () => {
    const { store, rules, tryCall } = world(
      rule({ name: 'mine', calls: 10, fuel: 1_000 }),
      rule({ name: 'ours', per: 'tenant', calls: 4 }),
      rule({ name: 'others', match: 'user:*', calls: 0 }),
    );
    const checked = checkedCall({ limits: { fuel: 100 } });
    spend(store, tryCall(checked).callId, { ...ONE_CALL, fuel: 30 });
    tryCall(checked);
    expect(left(store, rules, checked, NOON)).toEqual({
      calls: 2,
      wallMs: Number.MAX_SAFE_INTEGER,
      cpuMs: Number.MAX_SAFE_INTEGER,
      fuel: 870,
      outputBytes: Number.MAX_SAFE_INTEGER,
      egressBytes: Number.MAX_SAFE_INTEGER,
    });
  });

  it('is never below zero, also when a call used more than it held', () => {
    const { store, rules, tryCall } = world(rule({ name: 'time', wallMs: 100 }));
    spend(store, tryCall().callId, { ...ONE_CALL, wallMs: 105 });
    expect(left(store, rules, checkedCall(), NOON).wallMs).toBe(0);
  });

  it('is what the rule says for a call without a session', () => {
    const { store, rules } = world(rule({ name: 'run', per: 'run', windowMs: null, calls: 7 }));
    expect(left(store, rules, checkedCall({ session: null }), NOON).calls).toBe(7);
  });
});
