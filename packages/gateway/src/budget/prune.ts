import { sql } from 'kysely';
import { queries } from '../store/query.ts';
import type { Transaction } from '../store/transaction.ts';
import type { BudgetTables } from './tables.ts';

/** A run that nobody called in for so long is taken as over. */
const RUN_FORGOTTEN_AFTER_MS = 30 * 24 * 60 * 60_000;

const query = queries<BudgetTables>();

// An account whose window ended more than two windows ago: start + 3 windows lies in the past.
const deleteOld = query<{ nowMs: number; untouchedSinceMs: number }>()((db, p) =>
  db
    .deleteFrom('budget_account')
    .where('calls_reserved', '=', 0)
    .where(
      sql<boolean>`case when window_ms = 0
        then touched_at_ms < ${p('untouchedSinceMs')}
        else window_start_ms + 3 * window_ms < ${p('nowMs')} end`,
    ),
);

/** Forgets accounts that can no longer matter and hold nothing, and gives how many. */
export function prune(tx: Transaction, nowMs: number): number {
  return tx.run(deleteOld, { nowMs, untouchedSinceMs: nowMs - RUN_FORGOTTEN_AFTER_MS });
}
