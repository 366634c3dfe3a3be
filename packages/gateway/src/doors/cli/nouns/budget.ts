import type { Wire } from '@palisade/sdk';
import { isoTime } from '../../../core/clock.ts';
import { operationVerb } from '../operate.ts';

type Account = Wire.Replies['listBudgets']['accounts'][number];

export const ACCOUNT_COLUMNS = ['BUDGET', 'SUBJECT', 'UNIT', 'SPENT', 'HELD', 'LEFT', 'OF', 'RESETS'];

/** A row for each limited unit of each account. */
export function accountRows(accounts: readonly Account[]) {
  return accounts.flatMap(({ budget, subject, resetsAtMs, units }) => {
    const resets = resetsAtMs === null ? 'never' : isoTime(resetsAtMs);
    const limited = units.filter(({ limit }) => limit !== null);
    return limited.map(({ unit, spent, reserved, left, limit }) => [
      ...[budget, subject, unit, spent, reserved, left, limit, resets],
    ]);
  });
}

export const list = operationVerb(
  'listBudgets',
  () => ({}),
  ({ accounts }, { print }) =>
    print.table(
      ACCOUNT_COLUMNS,
      accountRows(accounts),
      'No call has used a budget yet. `palisade config show` lists the budgets.',
    ),
);
