import type { BudgetRule } from '../config/config.ts';
import { matchesPattern } from '../config/grammar.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import type { Usage } from '../core/limits.ts';
import type { RefusedCode } from '../core/outcome.ts';
import { formatPrincipal } from '../core/principal.ts';
import type { Migration } from '../store/migrate.ts';

type UnitRow = {
  readonly unit: keyof Usage;
  /** The prefix of the columns `*_spent` and `*_reserved`, and the key of `[[budget]]` in palisade.toml. */
  readonly column: string;
  readonly code: RefusedCode;
  /** Follows a number in a message. */
  readonly noun: string;
};

/** What a budget counts. A refusal names the first unit in this order that is used up. */
export const UNITS = [
  { unit: 'calls', column: 'calls', code: 'budget/calls-exhausted', noun: 'calls' },
  { unit: 'wallMs', column: 'wall_ms', code: 'budget/wall-exhausted', noun: 'ms of wall-clock time' },
  { unit: 'cpuMs', column: 'cpu_ms', code: 'budget/cpu-exhausted', noun: 'ms of CPU time' },
  { unit: 'fuel', column: 'fuel', code: 'budget/fuel-exhausted', noun: 'units of fuel' },
  { unit: 'outputBytes', column: 'output_bytes', code: 'budget/output-exhausted', noun: 'bytes of output' },
  {
    unit: 'egressBytes',
    column: 'egress_bytes',
    code: 'budget/egress-exhausted',
    noun: 'bytes of network traffic',
  },
] as const satisfies readonly UnitRow[];

export type UnitOfBudget = (typeof UNITS)[number];
export type Unit = UnitOfBudget['unit'];
type UnitColumn = UnitOfBudget['column'];

export function perUnit<T>(amountOf: (row: UnitOfBudget, index: number) => T): Record<Unit, T> {
  const amounts: Partial<Record<Unit, T>> = {};
  for (const [index, row] of UNITS.entries()) amounts[row.unit] = amountOf(row, index);
  return amounts as Record<Unit, T>;
}

export type UnitColumns<S extends 'spent' | 'reserved'> = { [C in UnitColumn as `${C}_${S}`]: number };

export type AccountKey = { budget: string; subject: string; window_start_ms: number };

export type AccountRow = AccountKey & {
  /** 0 for an account without windows. */
  window_ms: number;
  touched_at_ms: number;
} & UnitColumns<'spent'> &
  UnitColumns<'reserved'>;

/** What one call has reserved: the same amounts on each of its accounts. */
export type ReservationRow = {
  call_id: string;
  /** JSON: the key of each account. */
  accounts: string;
  /** JSON: the amount of each unit. */
  amounts: string;
};

export type BudgetTables = { budget_account: AccountRow; budget_reservation: ReservationRow };

export function amountsIn<S extends 'spent' | 'reserved'>(row: UnitColumns<S>, kind: S): Usage {
  const columns = row as Readonly<Record<string, number>>;
  return perUnit(({ column }) => columns[`${column}_${kind}`] ?? 0);
}

export function columnsOf<S extends 'spent' | 'reserved'>(amounts: Usage, kind: S): UnitColumns<S> {
  const columns: Record<string, number> = {};
  for (const { unit, column } of UNITS) columns[`${column}_${kind}`] = amounts[unit];
  return columns as UnitColumns<S>;
}

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
  {
    // 0.1.0 had a row for each account of a call; an open one holds the same amounts on all of them.
    id: 'budget/002',
    unless: "SELECT 1 FROM pragma_table_info('budget_reservation') WHERE name = 'accounts'",
    sql: `
ALTER TABLE budget_reservation RENAME TO budget_reservation_before;
CREATE TABLE budget_reservation (
  call_id TEXT PRIMARY KEY,
  accounts TEXT NOT NULL,
  amounts TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO budget_reservation (call_id, accounts, amounts)
  SELECT call_id,
    json_group_array(json_object('budget', budget, 'subject', subject, 'window_start_ms', window_start_ms)),
    json_object('calls', max(calls_reserved), 'wallMs', max(wall_ms_reserved), 'cpuMs', max(cpu_ms_reserved),
      'fuel', max(fuel_reserved), 'outputBytes', max(output_bytes_reserved), 'egressBytes', max(egress_bytes_reserved))
  FROM budget_reservation_before GROUP BY call_id;
DROP TABLE budget_reservation_before;`,
  },
];

/** A rule that applies to a call, and the account that it draws on. */
export type Claim = {
  readonly rule: BudgetRule;
  /** The key of the account; null when the call is a run by itself and no account is kept. */
  readonly subject: string | null;
  /** How messages name the subject. */
  readonly title: string;
};

type Named = { readonly matched: string; readonly subject: string | null; readonly title: string };

/** The rules that apply to a call, in the order of the configuration. */
export function subjectsOf(rules: readonly BudgetRule[], checked: CheckedCall): readonly Claim[] {
  const claims: Claim[] = [];
  for (const rule of rules) {
    const { matched, subject, title } = nameOf(rule, checked);
    if (rule.match === null || matchesPattern(rule.match, matched)) claims.push({ rule, subject, title });
  }
  return claims;
}

function nameOf({ per, match }: BudgetRule, { call, tool }: CheckedCall): Named {
  // Boundary: every key starts with the tenant, whose name has no "/", so that no two tenants share an account.
  const keyOf = (name: string) => `${call.tenant}/${name}`;
  switch (per) {
    case 'principal': {
      const principal = formatPrincipal(call.principal);
      return { matched: principal, subject: keyOf(principal), title: principal };
    }
    case 'tool':
      return { matched: tool.id, subject: keyOf(tool.id), title: `tool ${tool.id}` };
    case 'tenant':
      return { matched: call.tenant, subject: call.tenant, title: `tenant ${call.tenant}` };
    case 'run': {
      // A label never has a colon, and a principal always has one.
      const matched = match?.includes(':') ? formatPrincipal(call.principal) : (call.run ?? '');
      const { session } = call;
      if (session === undefined) return { matched, subject: null, title: 'a call without a session' };
      // Boundary: the account is that of the session, which the gateway made, whatever run the caller names.
      return { matched, subject: keyOf(session), title: `session ${session}` };
    }
  }
}

/** The start of the window that contains this time; 0 for a rule without windows. */
export function windowStartMs(rule: BudgetRule, nowMs: number): number {
  return rule.windowMs === null ? 0 : Math.floor(nowMs / rule.windowMs) * rule.windowMs;
}

/** The end of the window that contains this time; null for a rule without windows. */
export function resetsAtMs(rule: BudgetRule, nowMs: number): number | null {
  return rule.windowMs === null ? null : windowStartMs(rule, nowMs) + rule.windowMs;
}
