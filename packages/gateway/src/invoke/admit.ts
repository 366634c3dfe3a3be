import { type ApprovalBinding, approvalDigest, bindingOf } from '../approval/approval.ts';
import { standing } from '../approval/standing.ts';
import { left } from '../budget/left.ts';
import type { ToolCall } from '../core/call.ts';
import type { ApprovalFact, BudgetLeft, CheckedCall } from '../core/checked-call.ts';
import type { Digest } from '../core/digest.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import { authorize, type Decision } from '../policy/authorize.ts';
import type { Grant } from '../policy/grant.ts';
import type { Reader } from '../store/transaction.ts';
import { executorOf } from '../tiers/tier.ts';
import { unrecordableName } from './facts.ts';
import type { Line } from './gateway.ts';

/** What the policies said, as far as it got; it goes into the receipt of a refusal too. */
export type Verdict = { readonly set: Digest | null; readonly decidedBy: readonly string[] };

export const UNDECIDED: Verdict = { set: null, decidedBy: [] };

export type Admission =
  | {
      readonly kind: 'granted';
      readonly checked: CheckedCall;
      readonly grant: Grant;
      readonly binding: ApprovalBinding;
    }
  | {
      readonly kind: 'ask';
      readonly checked: CheckedCall;
      readonly verdict: Verdict;
      readonly binding: ApprovalBinding;
    }
  | {
      readonly kind: 'refused';
      readonly checked: CheckedCall | null;
      readonly refused: Refused;
      readonly verdict: Verdict;
    };

/** Stands for what no policy reads; nothing left, should one ever look. */
const UNREAD: BudgetLeft = { calls: 0, wallMs: 0, cpuMs: 0, fuel: 0, outputBytes: 0, egressBytes: 0 };

const MAX_TIMEOUT_MS = 86_400_000;

/** find, authorize and, where the policies ask for it, approve: everything that can be said before money and disk. */
export async function admit(line: Line, call: ToolCall): Promise<Admission> {
  const invalid = invalidField(call, line.redact);
  if (invalid !== null) return refusedAs(refuse('door/invalid-call', invalid));
  const checked = await line.registry.check(call);
  if ('status' in checked) return refusedAs(checked);
  const executor = executorOf(line.executors, checked);
  if (executor === undefined) return refusedAs(refuse('tier/unenforceable', lackOf(checked)));
  const refused = await executor.refusal?.(checked);
  if (refused) return { kind: 'refused', checked, refused, verdict: UNDECIDED };
  line.policy.refresh();
  return judge(line, line.store, checked);
}

/** Asks the policies, with what the reader shows of budgets and approvals. */
export function judge(line: Line, reader: Reader, checked: CheckedCall): Admission {
  const nowMs = line.clock.nowMs();
  // Only policies that read it make it worth a look at the accounts.
  const budgetLeft = line.policy.reads.has('budgetLeft')
    ? left(reader, line.budgets, checked, nowMs)
    : UNREAD;
  const first = authorize(line.policy, checked, { budgetLeft, approval: null, nowMs });
  if (first.verdict !== 'ask') return admissionOf(first, checked);
  const binding = bindingOf(checked, first.setDigest);
  const stand = standing(reader, approvalDigest(binding), nowMs);
  if (stand.kind !== 'approved') {
    return { kind: 'ask', checked, binding, verdict: { set: first.setDigest, decidedBy: first.decidedBy } };
  }
  const approval: ApprovalFact = stand.fact;
  return admissionOf(authorize(line.policy, checked, { budgetLeft, approval, nowMs }), checked);
}

function admissionOf(decision: Decision, checked: CheckedCall): Admission {
  switch (decision.verdict) {
    case 'allow': {
      const { grant } = decision;
      return { kind: 'granted', checked, grant, binding: bindingOf(checked, grant.setDigest) };
    }
    case 'ask': {
      const verdict = { set: decision.setDigest, decidedBy: decision.decidedBy };
      return { kind: 'ask', checked, verdict, binding: bindingOf(checked, decision.setDigest) };
    }
    case 'deny': {
      const verdict = { set: decision.setDigest, decidedBy: decision.decidedBy };
      return { kind: 'refused', checked, refused: decision.refused, verdict };
    }
  }
}

/** What is wrong where no executor is there for a call. */
export function lackOf({ tool, tier }: CheckedCall): string {
  return `Cannot run ${tool.id}: this line has no tier "${tier}"`;
}

function refusedAs(refused: Refused): Admission {
  return { kind: 'refused', checked: null, refused, verdict: UNDECIDED };
}

/** Boundary: names from outside are held to one grammar before they reach a policy, a row or a record. */
function invalidField(call: ToolCall, redact: Line['redact']): string | null {
  const name = unrecordableName(call, redact);
  if (name !== null) return `Cannot accept call: the ${name} has no valid name`;
  const { timeoutMs } = call;
  if (
    timeoutMs === null ||
    (Number.isSafeInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS)
  )
    return null;
  return `Cannot accept call: the time limit is ${timeoutMs} ms, expected 1 to ${MAX_TIMEOUT_MS}`;
}
