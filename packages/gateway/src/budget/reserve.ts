import type { CheckedCall } from '../core/checked-call.ts';
import { isoTime } from '../core/clock.ts';
import { type Limits, narrow } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import type { Transaction } from '../store/transaction.ts';
import { type Drawn, hold, leftOf, readAccounts } from './account.ts';
import { type BudgetRule, resetsAtMs, subjectsOf } from './rule.ts';
import { UNITS, type Unit, type UnitOfBudget } from './units.table.ts';

/*
 * Budgets are kept like a purse with receipts. Before a call runs, the most it may use is held back on the account of
 * every rule that applies (`reserve`); after it, the hold is exchanged for what it really used (`settle`). Both happen in
 * the transaction that also writes the journal, so that a crash between them leaves a hold, never a free call; whoever
 * finds such a hold settles it "as reserved".
 *
 * The rules come from the operator and are trusted; who calls, which tool and which run were checked by the door and the
 * registry. Nobody can be given more than a rule leaves: the amounts of all rules meet downward and become the limits of
 * the call. A real usage may pass its hold a little, where a limit is watched from outside (a wall clock); it is charged
 * in full. This room never runs, waits or reads a clock.
 */

export type Reserving = {
  readonly callId: string;
  readonly rules: readonly BudgetRule[];
  readonly checked: CheckedCall;
  readonly nowMs: number;
};

export type Reserved =
  | { readonly ok: true; readonly limits: Limits }
  | { readonly ok: false; readonly refused: Refused };

/** Holds what the call may use at most on every account it draws on, or refuses and writes nothing. */
export function reserve(tx: Transaction, { callId, rules, checked, nowMs }: Reserving): Reserved {
  const claims = subjectsOf(rules, checked);
  const amounts = mostOf(checked.limits);
  for (const drawn of readAccounts(tx, claims, nowMs)) {
    for (const row of UNITS) {
      const left = leftOf(drawn, row.unit);
      // A call that can use nothing of a unit is not in want of it.
      if (left === null || amounts[row.unit] === 0) continue;
      // Boundary: an empty purse stops the call here, before it can run on a limit of zero.
      if (left < 1) return { ok: false, refused: refuseFor(drawn, row, nowMs) };
      amounts[row.unit] = Math.min(amounts[row.unit], left);
    }
  }
  hold(tx, claims, { callId, amounts, nowMs });
  const { calls: _, ...caps } = amounts;
  return { ok: true, limits: narrow(checked.limits, caps) };
}

function mostOf({ wallMs, cpuMs, fuel, outputBytes, egressBytes }: Limits): Record<Unit, number> {
  // Accounts are kept in whole units; a part of one is held as one.
  return {
    calls: 1,
    wallMs: Math.ceil(wallMs),
    cpuMs: Math.ceil(cpuMs),
    fuel: Math.ceil(fuel),
    outputBytes: Math.ceil(outputBytes),
    egressBytes: Math.ceil(egressBytes),
  };
}

function refuseFor(drawn: Drawn, row: UnitOfBudget, nowMs: number): Refused {
  const { claim, account } = drawn;
  const { rule, title } = claim;
  const held = account.reserved[row.unit];
  const heldText = held > 0 ? ` (${held} held by running calls)` : '';
  const resets = resetsAtMs(rule, nowMs);
  const resetText = resets === null ? 'never resets' : `resets at ${isoTime(resets)}`;
  const message =
    `Cannot run call: budget "${rule.name}" of ${title} has ${leftOf(drawn, row.unit)} ` +
    `of ${rule[row.unit]} ${row.noun} left${heldText}, ${resetText}`;
  return refuse(row.code, message, remedyFor(held > 0, resets === null));
}

function remedyFor(isHeld: boolean, isForTheRun: boolean): string {
  const wait = isHeld ? 'Wait for the running calls to end, or ' : '';
  const next = isForTheRun ? 'start a new run' : 'wait until the budget resets';
  const advice = `${wait}${next}, or raise it in palisade.toml.`;
  return advice.charAt(0).toUpperCase() + advice.slice(1);
}
