import type { Usage } from '../core/limits.ts';
import type { Migration } from '../store/migrate.ts';
import { perUnit, UNITS, type UnitColumn } from './units.table.ts';

export type UnitColumns<S extends 'spent' | 'reserved'> = { [C in UnitColumn as `${C}_${S}`]: number };

export type AccountKey = { budget: string; subject: string; window_start_ms: number };

export type AccountRow = AccountKey & {
  /** 0 for an account without windows. */
  window_ms: number;
  touched_at_ms: number;
} & UnitColumns<'spent'> &
  UnitColumns<'reserved'>;

/** What one call holds: the same amounts on each of its accounts. */
export type ReservationRow = {
  call_id: string;
  /** JSON: the key of each account. */
  accounts: string;
  /** JSON: the amount of each unit. */
  amounts: string;
};

export type BudgetTables = { budget_account: AccountRow; budget_reservation: ReservationRow };

/** Reads the amounts of one kind out of a row. */
export function amountsIn<S extends 'spent' | 'reserved'>(row: UnitColumns<S>, kind: S): Usage {
  const columns = row as Readonly<Record<string, number>>;
  return perUnit(({ column }) => columns[`${column}_${kind}`] ?? 0);
}

/** The same amounts as the columns of a row. */
export function columnsOf<S extends 'spent' | 'reserved'>(amounts: Usage, kind: S): UnitColumns<S> {
  const columns: Record<string, number> = {};
  for (const { unit, column } of UNITS) columns[`${column}_${kind}`] = amounts[unit];
  return columns as UnitColumns<S>;
}

/** The tables of this room. */
export const budgetMigrations: readonly Migration[] = [
  {
    id: 'budget/001',
    sql: `
CREATE TABLE budget_account (
  budget TEXT NOT NULL,
  subject TEXT NOT NULL,
  window_start_ms INTEGER NOT NULL,
  window_ms INTEGER NOT NULL,
  touched_at_ms INTEGER NOT NULL,
  calls_spent INTEGER NOT NULL CHECK (calls_spent >= 0),
  wall_ms_spent INTEGER NOT NULL CHECK (wall_ms_spent >= 0),
  cpu_ms_spent INTEGER NOT NULL CHECK (cpu_ms_spent >= 0),
  fuel_spent INTEGER NOT NULL CHECK (fuel_spent >= 0),
  output_bytes_spent INTEGER NOT NULL CHECK (output_bytes_spent >= 0),
  egress_bytes_spent INTEGER NOT NULL CHECK (egress_bytes_spent >= 0),
  calls_reserved INTEGER NOT NULL CHECK (calls_reserved >= 0),
  wall_ms_reserved INTEGER NOT NULL CHECK (wall_ms_reserved >= 0),
  cpu_ms_reserved INTEGER NOT NULL CHECK (cpu_ms_reserved >= 0),
  fuel_reserved INTEGER NOT NULL CHECK (fuel_reserved >= 0),
  output_bytes_reserved INTEGER NOT NULL CHECK (output_bytes_reserved >= 0),
  egress_bytes_reserved INTEGER NOT NULL CHECK (egress_bytes_reserved >= 0),
  PRIMARY KEY (budget, subject, window_start_ms)
) STRICT, WITHOUT ROWID;
CREATE TABLE budget_reservation (
  call_id TEXT PRIMARY KEY,
  accounts TEXT NOT NULL,
  amounts TEXT NOT NULL
) STRICT, WITHOUT ROWID;`,
  },
];
