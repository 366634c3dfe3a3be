import type { BudgetLeft, CheckedCall } from '../core/checked-call.ts';
import type { Reader } from '../store/transaction.ts';
import { leftOf, readAccounts } from './account.ts';
import { type BudgetRule, subjectsOf } from './rule.ts';
import { perUnit, UNITS } from './units.table.ts';

/** What is left for this call, the least over all rules that apply; the greatest safe integer where none limits. */
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
