import { sql } from 'kysely';
import type { BudgetRule } from '../config/config.ts';
import type { Usage } from '../core/limits.ts';
import { queries, type Reader } from '../store/transaction.ts';
import { type AccountKey, type AccountRow, amountsIn, type BudgetTables, UNITS, type Unit } from './rule.ts';

type UnitBalance = {
  readonly unit: Unit;
  readonly spent: number;
  readonly reserved: number;
  /** Null where nothing limits the unit. */
  readonly limit: number | null;
  readonly left: number | null;
};

type Balance = {
  readonly budget: string;
  /** `TENANT/agent:ada`, `TENANT/TOOL`, `TENANT/RUN` or `TENANT`. */
  readonly subject: string;
  readonly windowStartMs: number;
  readonly resetsAtMs: number | null;
  readonly units: readonly UnitBalance[];
};

type Reservation = {
  readonly callId: string;
  readonly budget: string;
  readonly subject: string;
  readonly windowStartMs: number;
  readonly amounts: Usage;
};

const query = queries<BudgetTables>();

type Asked = { nowMs: number; limit: number; tenant: string | null };

const selectLive = query<Asked>()((db, p) =>
  db
    .selectFrom('budget_account')
    .selectAll()
    .where(sql<boolean>`(window_ms = 0 or window_start_ms + window_ms > ${p('nowMs')} or calls_reserved > 0)`)
    // The name of a tenant contains no "/", so no other tenant's accounts have this prefix.
    .where(
      sql<boolean>`(${p('tenant')} is null or subject = ${p('tenant')} or substr(subject, 1, length(${p('tenant')}) + 1) = ${p('tenant')} || '/')`,
    )
    .orderBy('touched_at_ms', 'desc')
    .orderBy('budget')
    .orderBy('subject')
    .limit(p('limit')),
);

const selectReservations = query()((db) =>
  db.selectFrom('budget_reservation').selectAll().orderBy('call_id'),
);

type BalancesAsked = {
  readonly rules: readonly BudgetRule[];
  readonly nowMs: number;
  readonly limit: number;
  /** Only those of this tenant; left out: all. */
  readonly tenant?: string;
};

/** The accounts that still count or have reservations, the last used first. */
export function balances(reader: Reader, asked: BalancesAsked): readonly Balance[] {
  const { rules, nowMs, limit, tenant = null } = asked;
  return reader.all(selectLive, { nowMs, limit, tenant }).map((row) => balanceOf(row, rules));
}

function balanceOf(row: AccountRow, rules: readonly BudgetRule[]): Balance {
  // A rule that was removed or whose window was changed no longer limits this account.
  const rule = rules.find(({ name, windowMs }) => name === row.budget && (windowMs ?? 0) === row.window_ms);
  const spent = amountsIn(row, 'spent');
  const reserved = amountsIn(row, 'reserved');
  const units = UNITS.map(({ unit }): UnitBalance => {
    const limit = rule?.[unit] ?? null;
    const left = limit === null ? null : Math.max(0, Math.floor(limit - spent[unit] - reserved[unit]));
    return { unit, spent: spent[unit], reserved: reserved[unit], limit, left };
  });
  return {
    budget: row.budget,
    subject: row.subject,
    windowStartMs: row.window_start_ms,
    resetsAtMs: row.window_ms === 0 ? null : row.window_start_ms + row.window_ms,
    units,
  };
}

/** What running calls have reserved, and what calls of dead processes keep reserved until they are settled. */
export function reservations(reader: Reader): readonly Reservation[] {
  return reader.all(selectReservations, {}).flatMap(({ call_id, accounts, amounts }) =>
    (JSON.parse(accounts) as AccountKey[]).map(({ budget, subject, window_start_ms }) => ({
      callId: call_id,
      budget,
      subject,
      windowStartMs: window_start_ms,
      amounts: JSON.parse(amounts) as Usage,
    })),
  );
}
