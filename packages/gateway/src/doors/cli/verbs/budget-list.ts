import { balances } from '../../../budget/balances.ts';
import { isoTime } from '../../../core/clock.ts';
import type { Invocation } from '../verb.ts';

const MOST_ACCOUNTS = 1000;

export async function run({ print, edge, openRecords }: Invocation): Promise<number> {
  const records = await openRecords();
  try {
    const rules = records.config.budgets;
    const accounts = balances(records.store, { rules, nowMs: edge.clock.nowMs(), limit: MOST_ACCOUNTS });
    if (print.json) {
      print.document({ rules, accounts });
      return 0;
    }
    const rows = accounts.flatMap(({ budget, subject, resetsAtMs, units }) =>
      units
        .filter(({ limit }) => limit !== null)
        .map(({ unit, spent, reserved, limit, left }) => {
          const resets = resetsAtMs === null ? 'never' : isoTime(resetsAtMs);
          return [
            budget,
            subject,
            unit,
            String(spent),
            String(reserved),
            String(left),
            String(limit),
            resets,
          ];
        }),
    );
    if (rows.length === 0)
      print.line('No call has drawn on a budget yet. `palisade config show` lists the budgets.');
    else print.table(['BUDGET', 'SUBJECT', 'UNIT', 'SPENT', 'HELD', 'LEFT', 'OF', 'RESETS'], rows);
    return 0;
  } finally {
    await records.close();
  }
}
