import { sql } from 'kysely';
import type { BudgetRule } from '../config/config.ts';
import { queries, type Reader } from '../store/transaction.ts';
import { type AccountRow, amountsIn, type BudgetTables, UNITS } from './rule.ts';

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

type BalancesAsked = {
  readonly rules: readonly BudgetRule[];
  readonly nowMs: number;
  readonly limit: number;
  /** Only those of this tenant; left out: all. */
  readonly tenant?: string;
};

/** The accounts that still count or have reservations, the last used first. */
export function balances(reader: Reader, asked: BalancesAsked) {
  const { rules, nowMs, limit, tenant = null } = asked;
  return reader.all(selectLive, { nowMs, limit, tenant }).map((row) => balanceOf(row, rules));
}

function balanceOf(row: AccountRow, rules: readonly BudgetRule[]) {
  // A rule that was removed or whose window was changed no longer limits this account.
  const rule = rules.find(({ name, windowMs }) => name === row.budget && (windowMs ?? 0) === row.window_ms);
  const spent = amountsIn(row, 'spent');
  const reserved = amountsIn(row, 'reserved');
  const units = UNITS.map(({ unit }) => {
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
