import { expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { balances } from '../../src/budget/balances.ts';
import { settle } from '../../src/budget/budget.ts';
import { budgetMigrations } from '../../src/budget/rule.ts';
import { race } from './race.ts';
import { reservations } from './reservations.ts';
import { NOON, rule } from './sample.ts';
import { openStore, tempDir } from './temp-store.ts';

/** A hundred in a whole run; half of them are let through. */
const RACERS = volume(100, 10);
const CALLS = RACERS / 2;

it('a budget lets exactly as many processes reserve as it has calls, and a crash of all of them costs them', async () => {
  const directory = tempDir();
  const store = openStore(directory, budgetMigrations);
  const argsOf = Array.from({ length: RACERS }, (_, i) => [directory, `call_${i}`, String(CALLS)]);
  const results = await race(new URL('./fixtures/reserve-once.ts', import.meta.url), argsOf);
  expect(results.filter((result) => result === 'reserved')).toHaveLength(CALLS);
  expect(results.filter((result) => result === 'budget/calls-exhausted')).toHaveLength(CALLS);

  for (const { callId } of reservations(store)) store.transact((tx) => settle(tx, callId, 'as-reserved'));
  const rules = [rule({ name: 'principal-hour', calls: CALLS })];
  const [balance] = balances(store, { rules, nowMs: NOON, limit: 1 });
  expect(balance?.units[0]).toEqual({ unit: 'calls', spent: CALLS, reserved: 0, limit: CALLS, left: 0 });
}, 180_000);
