import { sql } from 'kysely';
import { NO_USAGE, type Usage } from '../core/limits.ts';
import { type Placeholder, queries } from '../store/query.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import { type Claim, windowStartMs } from './rule.ts';
import {
  type AccountKey,
  type BudgetTables,
  columnsOf,
  type ReservationRow,
  type UnitColumns,
} from './tables.ts';
import { perUnit, UNITS, type Unit } from './units.table.ts';

export type Account = { readonly spent: Usage; readonly reserved: Usage };

/** A claim with the account it draws on. */
export type Drawn = { readonly claim: Claim; readonly account: Account };

const EMPTY: Account = { spent: NO_USAGE, reserved: NO_USAGE };

const query = queries<BudgetTables>();

const AMOUNTS = UNITS.flatMap(({ column }) => [sql.ref(`${column}_spent`), sql.ref(`${column}_reserved`)]);

// One column of text is read in a third of the time of seventeen.
const selectAmounts = query<AccountKey>()((db, p) =>
  db
    .selectFrom('budget_account')
    .select(sql<string>`json_array(${sql.join(AMOUNTS)})`.as('amounts'))
    .where('budget', '=', p('budget'))
    .where('subject', '=', p('subject'))
    .where('window_start_ms', '=', p('window_start_ms')),
);

type Held = AccountKey & { window_ms: number; touched_at_ms: number } & UnitColumns<'reserved'>;

const upsertAccount = query<Held>()((db, p) =>
  db
    .insertInto('budget_account')
    .values({
      budget: p('budget'),
      subject: p('subject'),
      window_start_ms: p('window_start_ms'),
      window_ms: p('window_ms'),
      touched_at_ms: p('touched_at_ms'),
      ...columnsOf(NO_USAGE, 'spent'),
      ...reservedBy(p),
    })
    .onConflict((conflict) =>
      conflict.columns(['budget', 'subject', 'window_start_ms']).doUpdateSet({
        window_ms: p('window_ms'),
        touched_at_ms: p('touched_at_ms'),
        ...Object.fromEntries(
          UNITS.map(({ column }) => {
            const reserved = sql.ref(`${column}_reserved`);
            return [`${column}_reserved`, sql`${reserved} + excluded.${reserved}`];
          }),
        ),
      }),
    ),
);

function reservedBy(p: Placeholder<Held>): UnitColumns<'reserved'> {
  const columns = UNITS.map(({ column }) => `${column}_reserved` as const);
  return Object.fromEntries(columns.map((name) => [name, p(name)])) as UnitColumns<'reserved'>;
}

const insertReservation = query<ReservationRow>()((db, p) =>
  db
    .insertInto('budget_reservation')
    .values({ call_id: p('call_id'), accounts: p('accounts'), amounts: p('amounts') }),
);

function keyOf({ rule, subject }: Claim, nowMs: number): AccountKey | null {
  if (subject === null) return null;
  return { budget: rule.name, subject, window_start_ms: windowStartMs(rule, nowMs) };
}

/** The account of each claim as it stands; an account nobody drew on yet is empty. */
export function readAccounts(reader: Reader, claims: readonly Claim[], nowMs: number): readonly Drawn[] {
  return claims.map((claim) => {
    const key = keyOf(claim, nowMs);
    const row = key === null ? undefined : reader.get(selectAmounts, key);
    return { claim, account: row === undefined ? EMPTY : accountOf(JSON.parse(row.amounts)) };
  });
}

function accountOf(amounts: readonly number[]): Account {
  return {
    spent: perUnit((_, i) => amounts[2 * i] ?? 0),
    reserved: perUnit((_, i) => amounts[2 * i + 1] ?? 0),
  };
}

/** Holds the amounts for a call on the account of every claim. */
export function hold(
  tx: Transaction,
  claims: readonly Claim[],
  held: { readonly callId: string; readonly amounts: Usage; readonly nowMs: number },
): void {
  const reserved = columnsOf(held.amounts, 'reserved');
  const accounts: AccountKey[] = [];
  for (const claim of claims) {
    const key = keyOf(claim, held.nowMs);
    if (key === null) continue;
    accounts.push(key);
    const windowMs = claim.rule.windowMs ?? 0;
    tx.run(upsertAccount, { ...key, window_ms: windowMs, touched_at_ms: held.nowMs, ...reserved });
  }
  if (accounts.length === 0) return;
  const { callId, amounts } = held;
  tx.run(insertReservation, {
    call_id: callId,
    accounts: JSON.stringify(accounts),
    amounts: JSON.stringify(amounts),
  });
}

/** What the rule leaves of a unit, never below zero; null where it limits nothing. */
export function leftOf({ claim, account }: Drawn, unit: Unit): number | null {
  const limit = claim.rule[unit];
  if (limit === null) return null;
  return Math.max(0, Math.floor(limit - account.spent[unit] - account.reserved[unit]));
}
