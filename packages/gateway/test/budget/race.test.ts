import { expect, it } from 'vitest';
import { balances, reservations } from '../../src/budget/balances.ts';
import { settle } from '../../src/budget/budget.ts';
import { budgetMigrations } from '../../src/budget/rule.ts';
import { race } from './race.ts';
import { NOON, rule } from './sample.ts';
import { openStore, tempDir } from './temp-store.ts';

it('a budget of 50 calls lets exactly 50 of 100 processes reserve, and a crash of all of them costs 50', async () => {
  const directory = tempDir();
  const store = openStore(directory, budgetMigrations);
  const argsOf = Array.from({ length: 100 }, (_, i) => [directory, `call_${i}`, '50']);
  const results = await race(new URL('./fixtures/reserve-once.ts', import.meta.url), argsOf);
  expect(results.filter((result) => result === 'reserved')).toHaveLength(50);
  expect(results.filter((result) => result === 'budget/calls-exhausted')).toHaveLength(50);

  for (const { callId } of reservations(store)) store.transact((tx) => settle(tx, callId, 'as-reserved'));
  const rules = [rule({ name: 'principal-hour', calls: 50 })];
  const [balance] = balances(store, { rules, nowMs: NOON, limit: 1 });
  expect(balance?.units[0]).toEqual({ unit: 'calls', spent: 50, reserved: 0, limit: 50, left: 0 });
}, 180_000);
