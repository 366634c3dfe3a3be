import { canonicalize } from '@palisade/sdk';
import { type Approval, approvalDigest, approvalState, bindingOf, use } from '../approval/approval.ts';
import { ask, countOpen, MAX_OPEN_REQUESTS } from '../approval/requests.ts';
import { reserve } from '../budget/budget.ts';
import type { ToolCall } from '../core/call.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import type { Json } from '../core/json.ts';
import { type Limits, narrow } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import { formatPrincipal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import type { Grant } from '../policy/authorize.ts';
import { strongerRemedy } from '../policy/ruling.ts';
import { readLog } from '../results/call-logs.ts';
import { isIdempotencyKey, keyState, takeKey } from '../results/keys.ts';
import { outcomeOf, readResult } from '../results/results.ts';
import type { Transaction } from '../store/transaction.ts';
import {
  type Admission,
  approvalRunOf,
  type CallFacts,
  grantedFacts,
  judge,
  refusalFacts,
  UNDECIDED,
  type Verdict,
} from './admit.ts';
import { appendEnding, type Ended, receiptOf } from './finish.ts';
import type { Line } from './gateway.ts';
import { enter } from './join-session.ts';

/** A call that may run now: its intent is durable, its budgets are reserved, its approval is used. */
export type Begun = {
  readonly kind: 'begun';
  readonly grant: Grant;
  readonly limits: Limits;
  readonly facts: CallFacts;
  readonly startedAt: string;
};

/** The decision is out of date; nothing was written. */
type Stale = { readonly kind: 'stale' };

type Granted = Extract<Admission, { kind: 'granted' }>;
type Asking = Extract<Admission, { kind: 'ask' }>;

/**
 * One transaction: either the intent with everything it needs, or the refusal with its receipt. Another process never
 * sees, and a crash never leaves, anything in between.
 */
export async function begin(
  line: Line,
  call: ToolCall,
  admission: Admission,
): Promise<Begun | Ended | Stale> {
  const asked = new Set<Approval>();
  const begun = await line.store.commit((tx): Begun | Ended | Stale => {
    asked.clear();
    // Boundary: the session may have been ended since, or begun by another call; nothing is charged to one that is over.
    if (!enter(line, tx, call)) return { kind: 'stale' };
    // Boundary: the wait for the database may have been long; a forbid or a revocation since then counts.
    if (admission.kind === 'granted' && !stillHolds(line, tx, admission)) return { kind: 'stale' };
    const judged = judgeInside(line, tx, admission);
    switch (judged.kind) {
      case 'granted':
        return beginGranted(line, tx, judged, asked);
      case 'ask':
        return refuseIn(line, tx, { call, ...judged }, askIn(line, tx, judged, asked));
      case 'refused':
        return refuseIn(line, tx, { call, ...judged }, judged.refused);
    }
  });
  for (const approval of asked) line.onAsked(approval);
  return begun;
}

/** Neither the policies nor the skill of the call have changed since. */
function stillHolds({ policy, registry }: Line, tx: Transaction, { grant, checked }: Granted): boolean {
  return policy.holds(grant.setDigest) && registry.holds(tx, checked.tool);
}

/** Where the policies read what is left of a budget, they are evaluated again in this transaction. */
function judgeInside(line: Line, tx: Transaction, admission: Admission): Admission {
  const isJudgedAgain = admission.kind === 'granted' && line.policy.reads.has('budgetLeft');
  return isJudgedAgain ? judge(line, tx, admission.checked) : admission;
}

function beginGranted(
  line: Line,
  tx: Transaction,
  admission: Granted,
  asked: Set<Approval>,
): Begun | Ended | Stale {
  // Boundary: what could not be attested does not run.
  line.keys.ensureReady();
  const { checked, grant } = admission;
  const nowMs = line.clock.nowMs();
  const { id: callId, idempotencyKey: key, trace } = checked.call;
  const verdict: Verdict = { set: grant.setDigest, decidedBy: grant.decidedBy };
  const refusing = { call: checked.call, checked, verdict };
  if (grant.approval !== null && !isStillApproved(tx, grant, nowMs)) {
    // Another process has used the approval since then.
    const binding = bindingOf(checked, grant.setDigest);
    const asking: Asking = { kind: 'ask', checked, verdict, binding, stronger: null };
    return refuseIn(line, tx, refusing, askIn(line, tx, asking, asked));
  }
  // Boundary: the same call may have begun elsewhere since then; it runs once.
  if (key !== undefined && isTaken(line, tx, checked.call, key)) return { kind: 'stale' };
  const reserved = reserve(tx, { callId, rules: line.budgets, checked, nowMs });
  if (!reserved.ok) return refuseIn(line, tx, refusing, reserved.problem);
  if (grant.approval !== null && !use(tx, grant.approval.id, callId, nowMs)) {
    throw new TypeError('Cannot use approval: it was valid a moment ago in this transaction');
  }
  if (key !== undefined) takeKey(tx, checked.call, key, nowMs - line.keep.keepForMs);
  const limits = narrow(grant.limits, reserved.value);
  const facts = grantedFacts(line, grant, limits);
  const { at } = line.journal.append(tx, {
    kind: 'intent',
    call: callId,
    principal: facts.principal,
    tool: facts.tool.id,
    tenant: facts.tenant,
    body: { facts: facts as unknown as Json, ...(trace === undefined ? {} : { trace }) },
    opens: line.presence.id,
    isPlain: true,
  });
  return { kind: 'begun', grant, limits, facts, startedAt: at };
}

function isTaken({ clock, keep }: Line, tx: Transaction, call: ToolCall, key: string): boolean {
  return keyState(tx, call, key, clock.nowMs() - keep.keepForMs).kind !== 'free';
}

function isStillApproved(tx: Transaction, { call, setDigest, approval }: Grant, nowMs: number): boolean {
  const digest = approvalDigest(bindingOf(call, setDigest));
  const state = approvalState(tx, { digest, run: approvalRunOf(call.call) }, nowMs);
  return state.kind === 'approved' && state.approval.id === approval?.id;
}

/** Opens a request for approval, or finds the one that is open, and refuses with its state; a new one is `asked`. */
function askIn(
  line: Line,
  tx: Transaction,
  { checked, verdict, binding, stronger }: Asking,
  asked: Set<Approval>,
): Refused {
  const nowMs = line.clock.nowMs();
  const digest = approvalDigest(binding);
  const before = approvalState(tx, { digest, run: approvalRunOf(checked.call) }, nowMs);
  if (before.kind === 'denied') {
    const { decidedBy, note } = before.approval;
    const message = `Cannot run call: ${decidedBy} denied it${note ? ` ("${note}")` : ''}`;
    return refuse('policy/approval-denied', message);
  }
  if (before.kind === 'approved') {
    const message = `Cannot run call: approval ${before.approval.id} was granted while the call was being decided`;
    return refuse('policy/approval-required', message, 'Repeat the identical call.');
  }
  const { call, tool, input } = checked;
  const open = countOpen(tx, binding.tenant, binding.principal, nowMs);
  if (before.kind !== 'pending' && open >= MAX_OPEN_REQUESTS) {
    const message = `Cannot run call: it needs an approval, and ${open} requests of ${binding.principal} are open already`;
    const remedy = 'Have a user decide the open requests: `palisade approvals list`.';
    return refuse('policy/approval-required', message, remedy);
  }
  const { approval, isNew } = ask(tx, {
    id: `apr_${call.id.slice(call.id.indexOf('_') + 1)}`,
    binding,
    inputText: canonicalize(line.redact(input)),
    policies: verdict.decidedBy,
    risk: tool.risk,
    toolText: mayComeAndGo(tool) ? canonicalize(line.redact(askedTool(tool))) : '',
    run: approvalRunOf(call),
    nowMs,
    expiresAtMs: nowMs + line.approvalExpiresAfterMs,
  });
  if (isNew) {
    asked.add(approval);
    line.journal.append(tx, {
      kind: 'approval-asked',
      call: call.id,
      principal: formatPrincipal(call.principal),
      tool: tool.id,
      tenant: call.tenant,
      body: { approval: approval.id, digest, policySet: verdict.set },
    });
  }
  const advice = stronger === null ? '' : ` ${strongerRemedy(stronger)}`;
  const remedy = `Have a user run \`${line.approveCommand(approval.id)}\`, then repeat the identical call.${advice}`;
  if (before.kind === 'expired' && before.approval.decidedBy !== null) {
    const message = `Cannot run call: approval ${before.approval.id} expired unused; approval ${approval.id} is requested now`;
    return refuse('policy/approval-expired', message, remedy);
  }
  return refuse('policy/approval-required', `Cannot run call: it needs the approval ${approval.id}`, remedy);
}

/** From a file, or of a server that only one line knows. */
function mayComeAndGo({ executor }: Tool): boolean {
  return executor.kind === 'wasm' || executor.kind === 'upstream';
}

/** A module may be run from a file, by a temporary gateway: the approver still has to see the tool. */
function askedTool({ description, category, tier, capabilities, inputSchema }: Tool): Json {
  return { description, category, tier, capabilities: [...capabilities], inputSchema };
}

type Refusing = { readonly call: ToolCall; readonly checked: CheckedCall | null; readonly verdict: Verdict };

function refuseIn(line: Line, tx: Transaction, refusing: Refusing, outcome: Refused): Ended {
  const { call } = refusing;
  const facts = refusalFacts(line, call, refusing);
  return appendEnding(line, tx, facts, { outcome, ran: null, trace: call.trace });
}

/** Refuses a call that names a session of another caller; the name is not recorded as its run. */
export function refuseUnjoined(line: Line, call: ToolCall, outcome: Refused): Promise<Ended> {
  const refusing = { call: { ...call, run: null }, checked: null, verdict: UNDECIDED };
  return line.store.commit((tx) => refuseIn(line, tx, refusing, outcome));
}

/**
 * The answer to a call whose idempotency key was used before: the ending of that same call as it was returned then, or
 * a refusal. Null: the call is new, and runs.
 */
export async function repeated(line: Line, call: ToolCall): Promise<Ended | null> {
  const { idempotencyKey: key } = call;
  if (key === undefined) return null;
  const { store, clock, keep } = line;
  const refused = (outcome: Refused) =>
    store.commit((tx) => refuseIn(line, tx, { call, checked: null, verdict: UNDECIDED }, outcome));
  if (!isIdempotencyKey(key)) {
    const message = 'Cannot use the idempotency key: expected 1 to 255 visible ASCII characters';
    return refused(refuse('door/invalid-call', message));
  }
  const used = keyState(store, call, key, clock.nowMs() - keep.keepForMs);
  if (used.kind === 'free') return null;
  if (used.kind === 'other') {
    const message = `Cannot run call: its idempotency key was used for another call`;
    return refused(refuse('door/idempotency-conflict', message));
  }
  const kept = readResult(store, used.callId);
  if (kept === null) {
    const message = `Cannot run call: ${used.callId} has the same idempotency key and has not ended`;
    return refused(refuse('door/call-open', message));
  }
  // Boundary: a row that leads to the result of another tenant or principal answers nothing.
  if (kept.tenant !== call.tenant || kept.principal !== formatPrincipal(call.principal)) {
    const message = 'Cannot run call: the result that its idempotency key leads to is not of this caller';
    return refused(refuse('door/idempotency-conflict', message));
  }
  const { callId, usage } = kept;
  const log = readLog(store, callId);
  return {
    kind: 'ended',
    callId,
    outcome: outcomeOf(kept),
    usage,
    receipt: receiptOf(line, callId),
    ...(log === null ? {} : { log }),
    replayed: true,
  };
}
