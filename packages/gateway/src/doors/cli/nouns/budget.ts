import { balances } from '../../../budget/balances.ts';
import { isoTime } from '../../../core/clock.ts';
import { withRecords } from '../opened.ts';
import type { Invocation } from '../verb.ts';

const MOST_ACCOUNTS = 1000;

export async function list(invocation: Invocation): Promise<number> {
  const { print, edge } = invocation;
  return withRecords(invocation, ({ store, config: { budgets: rules } }) => {
    const accounts = balances(store, { rules, nowMs: edge.clock.nowMs(), limit: MOST_ACCOUNTS });
    return print.result({ rules, accounts }, () => {
      const rows = accounts.flatMap(({ budget, subject, resetsAtMs, units }) => {
        const resets = resetsAtMs === null ? 'never' : isoTime(resetsAtMs);
        const limited = units.filter(({ limit }) => limit !== null);
        return limited.map(({ unit, spent, reserved, limit, left }) => [
          ...[budget, subject, unit, ...[spent, reserved, left, limit].map(String)],
          resets,
        ]);
      });
      if (rows.length === 0)
        print.line('No call has used a budget yet. `palisade config show` lists the budgets.');
      else print.table(['BUDGET', 'SUBJECT', 'UNIT', 'SPENT', 'HELD', 'LEFT', 'OF', 'RESETS'], rows);
    });
  });
}
