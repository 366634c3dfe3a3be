import { approvalDigest, approvalState, bindingOf } from '../approval/approval.ts';
import { left } from '../budget/budget.ts';
import type { ToolCall } from '../core/call.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import { CodedError } from '../core/coded-error.ts';
import { approvalRunOf, unrecordableName } from '../invoke/admit.ts';
import type { Gateway } from '../invoke/gateway.ts';
import { type Explanation, explain } from '../policy/explain.ts';

/** The approval request for exactly this call, if the policies require one and it has not been used. */
type Request = { readonly id: string; readonly state: 'pending' | 'approved' | 'denied' | 'expired' };
export type Explained = Explanation & { readonly approval: Request | null };

/** Refuses what a call would be refused for before any policy is asked. */
export async function checkCall({ registry, redact }: Gateway, call: ToolCall): Promise<CheckedCall> {
  const name = unrecordableName(call, redact);
  if (name !== null)
    throw new CodedError('door/invalid-call', `Cannot accept call: the name of the ${name} is not valid`);
  const checked = await registry.check(call);
  if ('status' in checked) throw new CodedError(checked.code, checked.message, { remedy: checked.remedy });
  return checked;
}

/** Asks the policies like a call does: first as it is, then with the approval that it has. */
export function explainNow(
  { store, budgets, policy }: Gateway,
  checked: CheckedCall,
  nowMs: number,
): Explained {
  const budgetLeft = left(store, budgets, checked, nowMs);
  const explanation = explain(policy, checked, { budgetLeft, approval: null, nowMs });
  const { verdict, setDigest } = explanation;
  if (verdict !== 'ask' || setDigest === null) return { ...explanation, approval: null };
  const stand = approvalState(
    store,
    { digest: approvalDigest(bindingOf(checked, setDigest)), run: approvalRunOf(checked.call) },
    nowMs,
  );
  if (stand.kind === 'none') return { ...explanation, approval: null };
  const approval: Request = { id: stand.approval.id, state: stand.kind };
  if (stand.kind !== 'approved') return { ...explanation, approval };
  return { ...explain(policy, checked, { budgetLeft, approval: stand.fact, nowMs }), approval };
}
