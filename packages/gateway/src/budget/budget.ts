import { sql } from 'kysely';
import type { BudgetRule } from '../config/config.ts';
import type { BudgetLeft, CheckedCall } from '../core/checked-call.ts';
import { isoTime } from '../core/clock.ts';
import { type Limits, NO_USAGE, narrow, type Usage } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import { accept, type Result, reject } from '../core/result.ts';
import {
  insertInto,
  type Placeholder,
  queries,
  type Reader,
  type Transaction,
} from '../store/transaction.ts';
import {
  type AccountKey,
  type BudgetTables,
  type Claim,
  columnsOf,
  perUnit,
  type ReservationRow,
  resetsAtMs,
  subjectsOf,
  UNITS,
  type Unit,
  type UnitColumns,
  type UnitOfBudget,
  windowStartMs,
} from './rule.ts';

/*
 * Before a call runs, the most it may use is reserved on the account of every rule that applies (`reserve`); after it,
 * the hold is replaced with its actual usage (`settle`). Both happen in the transaction that also writes the journal,
 * so that a crash between them leaves a hold, never a free call; the process that finds such a hold settles it "as
 * reserved".
 *
 * The rules come from the operator and are trusted; who calls, which tool and which run were checked by the door and
 * the registry. No call gets more than a rule leaves: the lowest amounts of all rules become the limits of the call.
 * The actual usage may exceed its hold a little, where a limit is enforced from outside (a wall clock); it is charged
 * in full. This module never runs, waits or reads a clock.
 */

type Reserving = {
  readonly callId: string;
  readonly rules: readonly BudgetRule[];
  readonly checked: CheckedCall;
  readonly nowMs: number;
};

/** Reserves the most that the call may use on every account it draws on, or refuses and writes nothing. */
export function reserve(
  tx: Transaction,
  { callId, rules, checked, nowMs }: Reserving,
): Result<Limits, Refused> {
  const claims = subjectsOf(rules, checked);
  const amounts = mostOf(checked.limits);
  for (const drawn of readAccounts(tx, claims, nowMs)) {
    for (const row of UNITS) {
      const left = leftOf(drawn, row.unit);
      // A call that cannot use a unit does not need any of it.
      if (left === null || amounts[row.unit] === 0) continue;
      // Boundary: an exhausted budget stops the call here, before it can run on a limit of zero.
      if (left < 1) return reject(refuseFor(drawn, row, { nowMs, session: checked.call.session }));
      amounts[row.unit] = Math.min(amounts[row.unit], left);
    }
  }
  hold(tx, claims, { callId, amounts, nowMs });
  const { calls: _, ...caps } = amounts;
  return accept(narrow(checked.limits, caps));
}

/** Accounts are kept in whole units; a fraction is rounded up. */
function mostOf(limits: Limits): Record<Unit, number> {
  return perUnit(({ unit }) => (unit === 'calls' ? 1 : Math.ceil(limits[unit])));
}

type Refusing = { readonly nowMs: number; readonly session: string | undefined };

function refuseFor(drawn: Drawn, row: UnitOfBudget, { nowMs, session }: Refusing): Refused {
  const { claim, account } = drawn;
  const { rule, title } = claim;
  const held = account.reserved[row.unit];
  const heldText = held > 0 ? ` (${held} held by running calls)` : '';
  const resets = resetsAtMs(rule, nowMs);
  const resetText = resets === null ? 'never resets' : `resets at ${isoTime(resets)}`;
  const message =
    `Cannot run call: budget "${rule.name}" of ${title} has ${leftOf(drawn, row.unit)} ` +
    `of ${rule[row.unit]} ${row.noun} left${heldText}, ${resetText}`;
  return refuse(row.code, message, remedyFor(held > 0, resets === null, session));
}

function remedyFor(isHeld: boolean, isForTheRun: boolean, session = 'ID'): string {
  const wait = isHeld ? 'Wait for the running calls to end, or ' : '';
  const renewed = `have an operator run \`palisade session end ${session}\`, which begins a new one`;
  const next = isForTheRun ? renewed : 'wait until the budget resets';
  const advice = `${wait}${next}, or raise it in palisade.toml.`;
  return advice.charAt(0).toUpperCase() + advice.slice(1);
}

type Account = { readonly spent: Usage; readonly reserved: Usage };

type Drawn = { readonly claim: Claim; readonly account: Account };

const EMPTY: Account = { spent: NO_USAGE, reserved: NO_USAGE };

const query = queries<BudgetTables>();

const AMOUNTS = UNITS.flatMap(({ column }) => [sql.ref(`${column}_spent`), sql.ref(`${column}_reserved`)]);

function hasKey(p: Placeholder<AccountKey>) {
  return sql<boolean>`(budget, subject, window_start_ms) = (${p('budget')}, ${p('subject')}, ${p('window_start_ms')})`;
}

// Reading one text column takes a third of the time of seventeen columns.
const selectAmounts = query<AccountKey>()((db, p) =>
  db
    .selectFrom('budget_account')
    .select(sql<string>`json_array(${sql.join(AMOUNTS)})`.as('amounts'))
    .where(hasKey(p)),
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

const insertReservation = insertInto<ReservationRow>('budget_reservation');

function keyOf({ rule, subject }: Claim, nowMs: number): AccountKey | null {
  if (subject === null) return null;
  return { budget: rule.name, subject, window_start_ms: windowStartMs(rule, nowMs) };
}

/** The current account of each claim; an account that was never drawn on is empty. */
function readAccounts(reader: Reader, claims: readonly Claim[], nowMs: number): readonly Drawn[] {
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

function hold(
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
  const [keys, amounts] = [JSON.stringify(accounts), JSON.stringify(held.amounts)];
  tx.run(insertReservation, { call_id: held.callId, accounts: keys, amounts });
}

/** What the rule leaves of a unit, never below zero; null where it does not limit it. */
function leftOf({ claim, account }: Drawn, unit: Unit): number | null {
  const limit = claim.rule[unit];
  if (limit === null) return null;
  return Math.max(0, Math.floor(limit - account.spent[unit] - account.reserved[unit]));
}

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
    .where(hasKey(p)),
);

/**
 * Replaces what a call reserved with what it used, in the window of the reservation, and returns the charge. A call
 * without a reservation (unknown, or settled before) is charged nothing. `as-reserved`: its ending is unknown.
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
  // Boundary: a usage that is not an amount (NaN, negative, infinite) is charged as reserved, never as nothing.
  return used >= 0 && used <= Number.MAX_SAFE_INTEGER ? Math.ceil(used) : held;
}

/** What is left for this call, the least over all rules that apply; the greatest safe integer where none limits it. */
export function left(
  reader: Reader,
  rules: readonly BudgetRule[],
  checked: CheckedCall,
  nowMs: number,
): BudgetLeft {
  const least = perUnit(() => Number.MAX_SAFE_INTEGER);
  for (const drawn of readAccounts(reader, subjectsOf(rules, checked), nowMs)) {
    for (const { unit } of UNITS) {
      least[unit] = Math.min(least[unit], leftOf(drawn, unit) ?? least[unit]);
    }
  }
  return least;
}

/** A run without calls for this long is considered over. */
const RUN_FORGOTTEN_AFTER_MS = 30 * 24 * 60 * 60_000;

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

/** Deletes accounts that can no longer matter and have no reservations, and returns how many. */
export function prune(tx: Transaction, nowMs: number): number {
  return tx.run(deleteOld, { nowMs, untouchedSinceMs: nowMs - RUN_FORGOTTEN_AFTER_MS });
}
