import { isoTime } from '../../../core/clock.ts';
import { operate } from '../operate.ts';
import type { Invocation } from '../verb.ts';

export async function list(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const budgets = await operate(invocation, 'listBudgets', {});
  return print.result(budgets, () => {
    const rows = budgets.accounts.flatMap(({ budget, subject, resetsAtMs, units }) => {
      const resets = resetsAtMs === null ? 'never' : isoTime(resetsAtMs);
      const limited = units.filter(({ limit }) => limit !== null);
      return limited.map(({ unit, spent, reserved, limit, left }) => [
        ...[budget, subject, unit, ...[spent, reserved, left, limit].map(String), resets],
      ]);
    });
    print.table(
      ['BUDGET', 'SUBJECT', 'UNIT', 'SPENT', 'HELD', 'LEFT', 'OF', 'RESETS'],
      rows,
      'No call has used a budget yet. `palisade config show` lists the budgets.',
    );
  });
}
