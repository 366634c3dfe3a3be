import type { Predicate } from '@palisade/sdk';
import { type ApprovalBinding, approvalDigest, approvalState, bindingOf } from '../approval/approval.ts';
import { left } from '../budget/budget.ts';
import type { CallSource, ToolCall } from '../core/call.ts';
import { placeOf } from '../core/caller.ts';
import type { CheckedCall } from '../core/checked-call.ts';
import { isoTime } from '../core/clock.ts';
import { type Digest, digestBytes } from '../core/digest.ts';
import { type Limits, NO_USAGE } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import { formatPrincipal, isName, isToolName } from '../core/principal.ts';
import type { ProcessTierName } from '../core/process.ts';
import { authorize, type Decision, type Grant } from '../policy/authorize.ts';
import type { Reader } from '../store/transaction.ts';
import type { Executors, Tier } from '../tiers/tier.ts';
import type { Line, Records } from './gateway.ts';

/** What the policies decided, as far as they were evaluated; it also goes into the receipt of a refusal. */
export type Verdict = { readonly set: Digest | null; readonly decidedBy: readonly string[] };

export const UNDECIDED: Verdict = { set: null, decidedBy: [] };

export type Admission =
  | { readonly kind: 'granted'; readonly checked: CheckedCall; readonly grant: Grant }
  | {
      readonly kind: 'ask';
      readonly checked: CheckedCall;
      readonly verdict: Verdict;
      readonly binding: ApprovalBinding;
      /** The tier in which it would need no approval; null: none. */
      readonly stronger: ProcessTierName | null;
    }
  | {
      readonly kind: 'refused';
      readonly checked: CheckedCall | null;
      readonly refused: Refused;
      readonly verdict: Verdict;
    };

const MAX_TIMEOUT_MS = 86_400_000;

/** find, authorize and, where the policies require it, approve: all before budgets and the journal. Changes nothing. */
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

/** Evaluates the policies, with what the reader shows of budgets and approvals. */
export function judge(line: Line, reader: Reader, checked: CheckedCall): Admission {
  const nowMs = line.clock.nowMs();
  // The accounts are read only for policies that read them; nothing is left, should one read it after all.
  const isRead = line.policy.reads.has('budgetLeft');
  const budgetLeft = isRead ? left(reader, line.budgets, checked, nowMs) : NO_USAGE;
  const first = admissionOf(authorize(line.policy, checked, { budgetLeft, approval: null, nowMs }), checked);
  if (first.kind !== 'ask') return first;
  const state = approvalState(
    reader,
    { digest: approvalDigest(first.binding), run: approvalRunOf(checked.call) },
    nowMs,
  );
  if (state.kind !== 'approved') return first;
  const { fact: approval } = state;
  return admissionOf(authorize(line.policy, checked, { budgetLeft, approval, nowMs }), checked);
}

function admissionOf(decision: Decision, checked: CheckedCall): Admission {
  if (decision.verdict === 'allow') return { kind: 'granted', checked, grant: decision.grant };
  const verdict = { set: decision.setDigest, decidedBy: decision.decidedBy };
  return decision.verdict === 'ask'
    ? {
        kind: 'ask',
        checked,
        verdict,
        binding: bindingOf(checked, decision.setDigest),
        stronger: decision.stronger,
      }
    : { kind: 'refused', checked, verdict, refused: decision.refused };
}

/** The executor of a call; undefined where this gateway has none for it. */
export function executorOf(executors: Executors, { tool, tier }: CheckedCall): Tier | undefined {
  return executors[tool.executor.kind === 'upstream' ? 'upstream' : tier];
}

export function lackOf({ tool, tier }: CheckedCall): string {
  return `Cannot run ${tool.id}: this gateway has no tier "${tier}"`;
}

function refusedAs(refused: Refused): Admission {
  return { kind: 'refused', checked: null, refused, verdict: UNDECIDED };
}

/** Boundary: names from outside must match one grammar before they reach a policy, a row or a record. */
function invalidField(call: ToolCall, redact: Line['redact']): string | null {
  const name = unrecordableName(call, redact);
  if (name !== null) return `Cannot accept call: the name of the ${name} is not valid`;
  const { timeoutMs } = call;
  if (
    timeoutMs === null ||
    (Number.isSafeInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS)
  )
    return null;
  return `Cannot accept call: the time limit is ${timeoutMs} ms, expected 1 to ${MAX_TIMEOUT_MS}`;
}

/**
 * What is known about a call before it runs. The intent includes all of it, so that a gateway that starts after a crash
 * can still sign how the call ended.
 */
export type CallFacts = Omit<Predicate, 'call' | 'outcome' | 'output' | 'execution' | 'usage' | 'journal'> & {
  readonly call: Omit<Predicate['call'], 'startedAt' | 'endedAt'>;
  readonly inputDigest: Digest;
  /** What the receipt has no field for; records of earlier versions have none of it. */
  readonly from?: CallFrom;
};

/** The session of a call, and the device and channel of its credential; absent: none. */
export type CallFrom = Pick<ToolCall, 'session'> & Pick<CallSource, 'device' | 'channel'>;

/** Replaces a name that was refused. */
const UNNAMED = 'invalid-name';

type Refusal = { readonly checked: CheckedCall | null; readonly verdict: Verdict };

export function refusalFacts(
  { version, redact }: Records,
  call: ToolCall,
  { checked, verdict }: Refusal,
): CallFacts {
  const named = recordable(call, redact);
  const definition = checked?.toolDigest ?? null;
  const inputDigest = checked?.inputDigest ?? digestBytes(call.rawInput);
  return {
    ...identityOf(named),
    tool: { id: toolNameOf(named.tool, checked !== null, redact), definition },
    inputDigest,
    policy: { set: verdict.set, decidedBy: verdict.decidedBy },
    approval: null,
    artifacts: checked?.artifacts ?? [],
    limits: null,
    gateway: { version },
  };
}

export function grantedFacts({ version }: Records, grant: Grant, limits: Limits): CallFacts {
  const { call, tool, toolDigest, inputDigest, artifacts } = grant.call;
  const { approval, setDigest, decidedBy } = grant;
  return {
    ...identityOf(call),
    tool: { id: tool.id, definition: toolDigest },
    inputDigest,
    policy: { set: setDigest, decidedBy },
    approval: approval === null ? null : { id: approval.id, by: approval.by, at: isoTime(approval.atMs) },
    artifacts,
    limits,
    gateway: { version },
  };
}

/** Which name of a call cannot be recorded, or null: it breaks the grammar, or the caller put a secret there. */
export function unrecordableName(call: ToolCall, redact: Records['redact']): string | null {
  const { principal, tenant, run, tool } = call;
  const isPlain = (name: string) => name === UNNAMED || (isName(name) && redact(name) === name);
  if (!isPlain(principal.name)) return 'principal';
  if (!isPlain(tenant)) return 'tenant';
  if (run !== null && !isPlain(run)) return 'run';
  return isToolName(tool) ? null : 'tool';
}

/** Boundary: a name that cannot be recorded is always replaced. */
function recordable(call: ToolCall, redact: Records['redact']): ToolCall {
  switch (unrecordableName(call, redact)) {
    case null:
      return call;
    case 'principal':
      return recordable({ ...call, principal: { ...call.principal, name: UNNAMED } }, redact);
    case 'run':
      return recordable({ ...call, run: UNNAMED }, redact);
    case 'tenant':
      return recordable({ ...call, tenant: UNNAMED }, redact);
    default:
      return { ...call, tool: UNNAMED };
  }
}

/** The name of a known tool; any other name is chosen by the caller, who may have put a secret there. */
function toolNameOf(tool: string, isKnown: boolean, redact: Records['redact']): string {
  return isKnown || redact(tool) === tool ? tool : UNNAMED;
}

function identityOf(call: ToolCall): Pick<CallFacts, 'call' | 'principal' | 'tenant' | 'from'> {
  const { id, door } = call;
  const from = fromOf(call);
  return {
    call: { id, run: runOf(call), door, receivedAt: isoTime(call.receivedAtMs) },
    principal: formatPrincipal(call.principal),
    tenant: call.tenant,
    ...(Object.keys(from).length === 0 ? {} : { from }),
  };
}

/** What records and receipts have as the run: the label that the caller gave, else the session. */
export function runOf({ run, session }: Pick<ToolCall, 'run' | 'session'>): string | null {
  return run ?? session ?? null;
}

/** What an approval for a run is bound to: the session, and in it the label of the caller, else the connection; null: none. */
export function approvalRunOf({ session, run, connection }: ToolCall): string | null {
  const within = (run === session ? null : run) ?? connection ?? null;
  if (session === undefined) return within;
  // Boundary: neither a label nor a connection contains a "/", so no two of these are the same.
  return within === null ? session : `${session}/${within}`;
}

function fromOf({ session, source }: ToolCall): CallFrom {
  return { ...(session === undefined ? {} : { session }), ...placeOf(source ?? {}) };
}
