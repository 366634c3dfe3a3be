import { sql } from 'kysely';
import { NO_USAGE, type Usage } from '../core/limits.ts';
import { queries } from '../store/query.ts';
import type { Transaction } from '../store/transaction.ts';
import { type AccountKey, amountsIn, type BudgetTables, columnsOf, type UnitColumns } from './tables.ts';
import { perUnit, UNITS } from './units.table.ts';

const query = queries<BudgetTables>();

const takeReservations = query<{ callId: string }>()((db, p) =>
  db.deleteFrom('budget_reservation').where('call_id', '=', p('callId')).returningAll(),
);

type Exchange = AccountKey & UnitColumns<'spent'> & UnitColumns<'reserved'>;

const exchange = query<Exchange>()((db, p) =>
  db
    .updateTable('budget_account')
    .set(
      Object.fromEntries(
        UNITS.flatMap(({ column }) => [
          [`${column}_spent`, sql`${sql.ref(`${column}_spent`)} + ${p(`${column}_spent`)}`],
          [`${column}_reserved`, sql`${sql.ref(`${column}_reserved`)} - ${p(`${column}_reserved`)}`],
        ]),
      ),
    )
    .where('budget', '=', p('budget'))
    .where('subject', '=', p('subject'))
    .where('window_start_ms', '=', p('window_start_ms')),
);

/**
 * Exchanges what a call held for what it used, in the window it was held in, and gives what was charged. A call that holds
 * nothing (unknown, or settled before) is charged nothing. `as-reserved` is for a call whose ending is unknown.
 */
export function settle(tx: Transaction, callId: string, usage: Usage | 'as-reserved'): Usage {
  let charged = NO_USAGE;
  for (const row of tx.all(takeReservations, { callId })) {
    const held = amountsIn(row, 'reserved');
    charged = usage === 'as-reserved' ? held : perUnit(({ unit }) => chargeable(usage[unit], held[unit]));
    const { budget, subject, window_start_ms } = row;
    tx.run(exchange, {
      budget,
      subject,
      window_start_ms,
      ...columnsOf(charged, 'spent'),
      ...columnsOf(held, 'reserved'),
    });
  }
  return charged;
}

function chargeable(used: number, held: number): number {
  // Boundary: a usage that is no amount (NaN, negative, infinite) is charged as held, never as nothing.
  return used >= 0 && used <= Number.MAX_SAFE_INTEGER ? Math.ceil(used) : held;
}
