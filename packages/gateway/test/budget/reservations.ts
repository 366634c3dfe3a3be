import type { AccountKey, BudgetTables } from '../../src/budget/rule.ts';
import type { Usage } from '../../src/core/limits.ts';
import { queries, type Reader } from '../../src/store/transaction.ts';

const select = queries<BudgetTables>()()((db) =>
  db.selectFrom('budget_reservation').selectAll().orderBy('call_id'),
);

/** What running calls have reserved, and what calls of dead processes keep reserved until they are settled. */
export function reservations(reader: Reader) {
  return reader.all(select, {}).flatMap(({ call_id, accounts, amounts }) =>
    (JSON.parse(accounts) as AccountKey[]).map(({ budget, subject, window_start_ms }) => ({
      callId: call_id,
      budget,
      subject,
      windowStartMs: window_start_ms,
      amounts: JSON.parse(amounts) as Usage,
    })),
  );
}
