import { approvalDigest, bindingOf } from '../../approval/approval.ts';
import { standing } from '../../approval/standing.ts';
import { left } from '../../budget/left.ts';
import type { ToolCall } from '../../core/call.ts';
import type { CheckedCall } from '../../core/checked-call.ts';
import { CodedError } from '../../core/coded-error.ts';
import { unrecordableName } from '../../invoke/facts.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import { type Explanation, explain } from '../../policy/explain.ts';
import type { Printer } from './printer.ts';

/** The request about this very call, where the policies ask for one and it has not been used. */
type Request = { readonly id: string; readonly state: 'pending' | 'approved' | 'denied' | 'expired' };
export type Explained = { readonly explanation: Explanation; readonly approval: Request | null };

/** Refuses what a call would be refused for before any policy is asked. */
export async function checkCall({ registry, redact }: Gateway, call: ToolCall): Promise<CheckedCall> {
  const name = unrecordableName(call, redact);
  if (name !== null)
    throw new CodedError('door/invalid-call', `Cannot accept call: the ${name} has no valid name`);
  const checked = await registry.check(call);
  if ('status' in checked) throw new CodedError(checked.code, checked.message, { remedy: checked.remedy });
  return checked;
}

/** Asks like a call does: first as it is, then with the approval that stands for it. */
export function explainNow(
  { store, budgets, policy }: Gateway,
  checked: CheckedCall,
  nowMs: number,
): Explained {
  const budgetLeft = left(store, budgets, checked, nowMs);
  const explanation = explain(policy, checked, { budgetLeft, approval: null, nowMs });
  const { verdict, setDigest } = explanation;
  if (verdict !== 'ask' || setDigest === null) return { explanation, approval: null };
  const stand = standing(store, approvalDigest(bindingOf(checked, setDigest)), nowMs);
  if (stand.kind === 'none') return { explanation, approval: null };
  const approval: Request = { id: stand.approval.id, state: stand.kind };
  if (stand.kind !== 'approved') return { explanation, approval };
  return { explanation: explain(policy, checked, { budgetLeft, approval: stand.fact, nowMs }), approval };
}

const WORDS = {
  allow: 'allowed',
  ask: 'needs approval',
  deny: 'denied',
  error: 'denied by an error',
} as const;

const REQUEST_WORDS = {
  pending: 'is open: nobody has decided it yet',
  approved: 'is approved: the call would run with it, once',
  denied: 'was denied: the call is refused until the request expires',
  expired: 'has expired: the call would ask anew',
} as const;

/** Prints the verdict and, policy by policy, what it comes from. */
export function printExplanation(print: Printer, title: string, { explanation, approval }: Explained): void {
  const { verdict, decidedBy, errors, policies, differences, setDigest } = explanation;
  print.styled(
    verdict === 'allow' ? 'green' : verdict === 'ask' ? 'yellow' : 'red',
    WORDS[verdict],
    `  ${title}`,
  );
  print.line(`policy set ${setDigest ?? 'none'}`);
  if (approval !== null) print.line(`approval ${approval.id} ${REQUEST_WORDS[approval.state]}`);
  for (const { id, file, effect } of decidedBy) print.line(`decided by ${effect} "${id}" (${file})`);
  if (decidedBy.length === 0 && verdict !== 'allow')
    print.line('no policy matched: what is not permitted is denied');
  for (const { policy, message } of errors) print.line(`error in ${policy ?? 'the request'}: ${message}`);
  print.line();
  for (const { id, effect, matched, parts } of policies) {
    print.line(`${matched ? 'matches' : '       '}  ${effect} "${id}"`);
    for (const { kind, text, state } of parts)
      if (state !== 'holds') print.block('           ', `${kind} ${state}: ${text}`);
  }
  if (differences.length > 0) print.line();
  for (const sentence of differences) print.block('→ ', sentence, 'cyan');
}
