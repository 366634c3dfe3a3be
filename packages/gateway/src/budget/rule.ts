import type { CheckedCall } from '../core/checked-call.ts';
import { formatPrincipal } from '../core/principal.ts';
import { fitsPattern } from './pattern.ts';
import type { Unit } from './units.table.ts';

/** One `[[budget]]` of the configuration; a unit that is null is counted but not limited. Names are unique. */
export type BudgetRule = {
  readonly name: string;
  readonly per: 'run' | 'principal' | 'tool' | 'tenant';
  /** On which subjects the rule applies, with `*`; null is all of them. */
  readonly match: string | null;
  /** Null counts over the whole life of a run. */
  readonly windowMs: number | null;
} & { readonly [U in Unit]: number | null };

/** A rule that applies to a call, and whose account it draws on. */
export type Claim = {
  readonly rule: BudgetRule;
  /** The key of the account; null when the call is a run of its own and no account is kept. */
  readonly subject: string | null;
  /** How messages name the subject. */
  readonly title: string;
};

type Named = { readonly matched: string; readonly subject: string | null; readonly title: string };

/** The rules that apply to a call, in the order of the configuration. */
export function subjectsOf(rules: readonly BudgetRule[], checked: CheckedCall): readonly Claim[] {
  const claims: Claim[] = [];
  for (const rule of rules) {
    const { matched, subject, title } = nameOf(rule.per, checked);
    if (rule.match === null || fitsPattern(rule.match, matched)) claims.push({ rule, subject, title });
  }
  return claims;
}

function nameOf(per: BudgetRule['per'], { call, tool }: CheckedCall): Named {
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
    case 'run':
      if (call.run === null) return { matched: '', subject: null, title: 'a call without a run' };
      return { matched: call.run, subject: keyOf(call.run), title: `run ${call.run}` };
  }
}

/** Where the window that holds this moment starts; 0 for a rule without windows. */
export function windowStartMs(rule: BudgetRule, nowMs: number): number {
  return rule.windowMs === null ? 0 : Math.floor(nowMs / rule.windowMs) * rule.windowMs;
}

/** When the window that holds this moment ends; null for a rule without windows. */
export function resetsAtMs(rule: BudgetRule, nowMs: number): number | null {
  return rule.windowMs === null ? null : windowStartMs(rule, nowMs) + rule.windowMs;
}
