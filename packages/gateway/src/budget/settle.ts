import { sql } from 'kysely';
import { NO_USAGE, type Usage } from '../core/limits.ts';
import { queries } from '../store/query.ts';
import type { Transaction } from '../store/transaction.ts';
import { type AccountKey, type BudgetTables, columnsOf, type UnitColumns } from './tables.ts';
import { perUnit, UNITS } from './units.table.ts';

const query = queries<BudgetTables>();

const takeReservation = query<{ callId: string }>()((db, p) =>
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
  const reservation = tx.get(takeReservation, { callId });
  if (reservation === undefined) return NO_USAGE;
  const held = JSON.parse(reservation.amounts) as Usage;
  const charged = usage === 'as-reserved' ? held : perUnit(({ unit }) => chargeable(usage[unit], held[unit]));
  const columns = { ...columnsOf(charged, 'spent'), ...columnsOf(held, 'reserved') };
  for (const key of JSON.parse(reservation.accounts) as AccountKey[])
    tx.run(exchange, { ...key, ...columns });
  return charged;
}

function chargeable(used: number, held: number): number {
  // Boundary: a usage that is no amount (NaN, negative, infinite) is charged as held, never as nothing.
  return used >= 0 && used <= Number.MAX_SAFE_INTEGER ? Math.ceil(used) : held;
}
