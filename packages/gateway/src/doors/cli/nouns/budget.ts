import { isoTime } from '../../../core/clock.ts';
import { operationVerb } from '../operate.ts';

export const list = operationVerb(
  'listBudgets',
  () => ({}),
  ({ accounts }, { print }) => {
    const rows = accounts.flatMap(({ budget, subject, resetsAtMs, units }) => {
      const resets = resetsAtMs === null ? 'never' : isoTime(resetsAtMs);
      const limited = units.filter(({ limit }) => limit !== null);
      return limited.map(({ unit, spent, reserved, left, limit }) => [
        ...[budget, subject, unit, spent, reserved, left, limit, resets],
      ]);
    });
    print.table(
      ['BUDGET', 'SUBJECT', 'UNIT', 'SPENT', 'HELD', 'LEFT', 'OF', 'RESETS'],
      rows,
      'No call has used a budget yet. `palisade config show` lists the budgets.',
    );
  },
);
