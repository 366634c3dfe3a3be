import { sql } from 'kysely';
import { NO_USAGE, type Usage } from '../core/limits.ts';
import { type Placeholder, queries } from '../store/query.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import { type Claim, windowStartMs } from './rule.ts';
import { type AccountKey, type BudgetTables, columnsOf, type UnitColumns } from './tables.ts';
import { perUnit, UNITS, type Unit } from './units.table.ts';

export type Account = { readonly spent: Usage; readonly reserved: Usage };

/** A claim with the account it draws on. */
export type Drawn = { readonly claim: Claim; readonly account: Account };

/** What both statements of a hold are given. */
type Held = AccountKey & {
  call_id: string;
  window_ms: number;
  touched_at_ms: number;
} & UnitColumns<'reserved'>;

const EMPTY: Account = { spent: NO_USAGE, reserved: NO_USAGE };

const query = queries<BudgetTables>();

const AMOUNT_COLUMNS = UNITS.flatMap(({ column }) => [
  sql.ref(`${column}_spent`),
  sql.ref(`${column}_reserved`),
]);

// The keys come, and the amounts go, as one JSON text: one prepared statement serves any number of rules, and a row of
// two columns is read in half the time of one with all. The cross join keeps the lookup by key in place.
const selectAccounts = query<{ keys: string }>()((db, p) =>
  db
    .selectFrom(sql<{ key: number; value: string }>`json_each(${p('keys')})`.as('wanted'))
    .crossJoin('budget_account as account')
    .select(['wanted.key as index', sql<string>`json_array(${sql.join(AMOUNT_COLUMNS)})`.as('amounts')])
    .where('account.budget', '=', sql<string>`wanted.value ->> 0`)
    .where('account.subject', '=', sql<string>`wanted.value ->> 1`)
    .where('account.window_start_ms', '=', sql<number>`wanted.value ->> 2`),
);

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

const insertReservation = query<Held>()((db, p) =>
  db.insertInto('budget_reservation').values({
    call_id: p('call_id'),
    budget: p('budget'),
    subject: p('subject'),
    window_start_ms: p('window_start_ms'),
    ...reservedBy(p),
  }),
);

function reservedBy(p: Placeholder<Held>): UnitColumns<'reserved'> {
  const columns = UNITS.map(({ column }) => `${column}_reserved` as const);
  return Object.fromEntries(columns.map((name) => [name, p(name)])) as UnitColumns<'reserved'>;
}

function keyOf({ rule, subject }: Claim, nowMs: number): AccountKey | null {
  if (subject === null) return null;
  return { budget: rule.name, subject, window_start_ms: windowStartMs(rule, nowMs) };
}

/** The account of each claim as it stands, in one statement; an account nobody drew on yet is empty. */
export function readAccounts(reader: Reader, claims: readonly Claim[], nowMs: number): readonly Drawn[] {
  const drawn: Drawn[] = claims.map((claim) => ({ claim, account: EMPTY }));
  if (claims.every(({ subject }) => subject === null)) return drawn;
  const keys = claims.map((claim) => {
    const key = keyOf(claim, nowMs);
    return key === null ? [] : [key.budget, key.subject, key.window_start_ms];
  });
  for (const { index, amounts } of reader.all(selectAccounts, { keys: JSON.stringify(keys) })) {
    const claim = claims[index];
    if (claim !== undefined) drawn[index] = { claim, account: accountOf(JSON.parse(amounts)) };
  }
  return drawn;
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
  const shared = {
    call_id: held.callId,
    touched_at_ms: held.nowMs,
    ...columnsOf(held.amounts, 'reserved'),
  };
  for (const claim of claims) {
    const key = keyOf(claim, held.nowMs);
    if (key === null) continue;
    const values = { ...shared, ...key, window_ms: claim.rule.windowMs ?? 0 };
    tx.run(upsertAccount, values);
    tx.run(insertReservation, values);
  }
}

/** What the rule leaves of a unit, never below zero; null where it limits nothing. */
export function leftOf({ claim, account }: Drawn, unit: Unit): number | null {
  const limit = claim.rule[unit];
  if (limit === null) return null;
  return Math.max(0, Math.floor(limit - account.spent[unit] - account.reserved[unit]));
}
