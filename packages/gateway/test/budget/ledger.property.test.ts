import fc from 'fast-check';
import { expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { balances } from '../../src/budget/balances.ts';
import { reserve, settle } from '../../src/budget/budget.ts';
import { budgetMigrations, perUnit, subjectsOf, UNITS, windowStartMs } from '../../src/budget/rule.ts';
import type { BudgetRule } from '../../src/config/config.ts';
import { NO_USAGE, type Usage } from '../../src/core/limits.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { reservations } from './reservations.ts';
import { checkedCall, MINUTE, NOON, rule } from './sample.ts';
import { openStore, tempDir } from './temp-store.ts';

type Step =
  | { do: 'call'; agent: string; tool: string; run: string | null; fuel: number; wallMs: number }
  | { do: 'end'; which: number; fuel: number; wallMs: number }
  | { do: 'crash'; which: number }
  | { do: 'wait'; ms: number };

const amount = fc.integer({ min: 0, max: 60 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      agent: fc.constantFrom('ada', 'bob'),
      tool: fc.constantFrom('text.count', 'text.sort'),
      run: fc.constantFrom('r1', 'r2', null),
      fuel: amount,
      wallMs: amount,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(), fuel: amount, wallMs: amount }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), which: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: MINUTE }) }),
  },
);

const limit = fc.option(fc.integer({ min: 0, max: 200 }));
const ruleOf = (name: string, per: BudgetRule['per'], windowMs: number | null) =>
  fc
    .record({ calls: fc.option(fc.integer({ min: 0, max: 6 })), fuel: limit, wallMs: limit })
    .map((limits) => rule({ name, per, windowMs, ...limits }));
const someRules = fc.tuple(
  ruleOf('principal', 'principal', MINUTE),
  ruleOf('tool', 'tool', 3 * MINUTE),
  ruleOf('tenant', 'tenant', 10 * MINUTE),
  ruleOf('run', 'run', null),
);

type Entry = { spent: Usage; overshoot: Usage };
type Open = { callId: string; accounts: string[]; held: Usage };

const plus = (a: Usage, b: Usage): Usage => perUnit(({ unit }) => a[unit] + b[unit]);
const over = (used: Usage, held: Usage): Usage => perUnit(({ unit }) => Math.max(0, used[unit] - held[unit]));

/** A second, plain bookkeeping next to the real one. */
class Ledger {
  readonly entries = new Map<string, Entry>();
  readonly open: Open[] = [];
  nowMs = NOON;

  settle(tx: Transaction, which: number, usage: Usage | 'as-reserved'): void {
    const [ended] = this.open.splice(which % this.open.length, 1);
    if (ended === undefined) return;
    const expected = usage === 'as-reserved' ? ended.held : usage;
    const charged = ended.accounts.length === 0 ? NO_USAGE : expected;
    expect(settle(tx, ended.callId, usage)).toEqual(charged);
    expect(settle(tx, ended.callId, usage)).toEqual(NO_USAGE);
    for (const key of ended.accounts) {
      const { spent, overshoot } = this.entries.get(key) ?? { spent: NO_USAGE, overshoot: NO_USAGE };
      const beyond = over(expected, ended.held);
      this.entries.set(key, { spent: plus(spent, expected), overshoot: plus(overshoot, beyond) });
    }
  }
}

function perform(tx: Transaction, ledger: Ledger, rules: readonly BudgetRule[], next: Step, i: number): void {
  if (next.do === 'wait') ledger.nowMs += next.ms;
  if (next.do === 'crash') ledger.settle(tx, next.which, 'as-reserved');
  if (next.do === 'end') {
    ledger.settle(tx, next.which, { ...NO_USAGE, calls: 1, fuel: next.fuel, wallMs: next.wallMs });
  }
  if (next.do !== 'call') return;
  const { agent, tool, run, fuel, wallMs } = next;
  const limits = { fuel, wallMs, cpuMs: 0, outputBytes: 0, egressBytes: 0 };
  const checked = checkedCall({ principal: { kind: 'agent', name: agent }, tool, run, limits });
  const callId = `call_${i}`;
  const reserved = reserve(tx, { callId, rules, checked, nowMs: ledger.nowMs });
  if (!reserved.ok) return;
  expect(reserved.value.fuel).toBeLessThanOrEqual(fuel);
  expect(reserved.value.wallMs).toBeLessThanOrEqual(wallMs);
  const accounts = subjectsOf(rules, checked)
    .filter(({ subject }) => subject !== null)
    .map((claim) => `${claim.rule.name} ${claim.subject} ${windowStartMs(claim.rule, ledger.nowMs)}`);
  const held = { ...NO_USAGE, calls: 1, fuel: reserved.value.fuel, wallMs: reserved.value.wallMs };
  ledger.open.push({ callId, accounts, held });
}

function compare(tx: Transaction, ledger: Ledger, rules: readonly BudgetRule[]): void {
  // Asked at the start of time, no window has ended: every account is shown.
  for (const balance of balances(tx, { rules, nowMs: 0, limit: 1_000 })) {
    const key = `${balance.budget} ${balance.subject} ${balance.windowStartMs}`;
    const entry = ledger.entries.get(key) ?? { spent: NO_USAGE, overshoot: NO_USAGE };
    const held = ledger.open.filter(({ accounts }) => accounts.includes(key)).map((open) => open.held);
    const reserved = held.reduce(plus, NO_USAGE);
    for (const { unit } of UNITS) {
      const row = balance.units.find((one) => one.unit === unit);
      expect(row).toMatchObject({ spent: entry.spent[unit], reserved: reserved[unit] });
      if (row?.limit != null) {
        expect(row.spent + row.reserved).toBeLessThanOrEqual(row.limit + entry.overshoot[unit]);
      }
    }
  }
  const kept = new Set(ledger.open.filter(({ accounts }) => accounts.length > 0).map(({ callId }) => callId));
  expect(new Set(reservations(tx).map(({ callId }) => callId))).toEqual(kept);
}

it('accounts balance to the unit and never pass their limits, whatever calls, endings and crashes interleave', () => {
  const store = openStore(tempDir(), budgetMigrations);
  const rollback = new Error('rolled back, so that the next example starts empty');
  fc.assert(
    fc.property(someRules, fc.array(step, { maxLength: 40 }), (rules, steps) => {
      const example = (tx: Transaction) => {
        const ledger = new Ledger();
        for (const [i, next] of steps.entries()) perform(tx, ledger, rules, next, i);
        compare(tx, ledger, rules);
        for (let i = ledger.open.length; i > 0; i--) ledger.settle(tx, 0, 'as-reserved');
        compare(tx, ledger, rules);
        throw rollback;
      };
      expect(() => store.transact(example)).toThrow(rollback);
    }),
    { numRuns: volume(300, 30) },
  );
});
