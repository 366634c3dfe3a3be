import { left } from '../budget/budget.ts';
import type { CallWatch, ToolCall } from '../core/call.ts';
import { type Caller, sourceOf } from '../core/caller.ts';
import { makeId } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { NO_USAGE } from '../core/limits.ts';
import { formatPrincipal } from '../core/principal.ts';
import { authorize } from '../policy/authorize.ts';
import type { KeptResult } from '../results/results.ts';
import {
  type CallContext,
  type RunContext,
  type RunEnding,
  type RunResult,
  TierFault,
} from '../tiers/tier.ts';
import { admit, executorOf, lackOf, runOf, unrecordableName } from './admit.ts';
import { type Begun, begin, refuseUnjoined, repeated } from './begin.ts';
import { type Ended, finish, recordFault, refuseOrFault, UNKNOWN_EXECUTION } from './finish.ts';
import type { Line, Records } from './gateway.ts';
import { joinSession } from './join-session.ts';

const MAX_DECISIONS = 8;

/*
 * The line. Every door ends here and nothing runs anywhere else:
 *
 *   join      the session that the call belongs to, made by the gateway; one that a caller names must be its own
 *   discover  connect to the upstream server of a tool that was never called, so that the tool is known
 *   admit     find the tool, read the input once, evaluate the policies (and, if they require it, ask a person)
 *   begin     one durable transaction: budgets reserved, approval used, intent written; or the refusal, written
 *   run       the executor spends the grant and enforces the limits
 *   finish    one durable transaction: budgets settled, receipt signed, ending written
 *
 * It never throws: a fault becomes a refusal before the run, or a failed ending after it.
 */
export async function invoke(
  line: Line,
  call: ToolCall,
  signal: AbortSignal,
  listeners: Omit<CallContext, 'signal'> = {},
): Promise<Ended> {
  const entered = line.running.enter(call, signal);
  const watch = line.observer(call);
  try {
    const ended = await runToEnd(line, call, watch, { ...listeners, signal: entered.signal });
    watch.ended(ended.outcome, ended.usage);
    return ended;
  } finally {
    entered.leave();
  }
}

async function runToEnd(line: Line, call: ToolCall, watch: CallWatch, context: CallContext): Promise<Ended> {
  let begun: Begun | Ended;
  try {
    begun = await admitAndBegin(line, call, watch);
  } catch (error) {
    return refuseOrFault(line, call, error);
  }
  if (begun.kind === 'ended') return begun;
  watch.step('run');
  const { skill } = begun.grant.call.tool;
  const running = skill === undefined ? null : line.skills.running.enter(skill);
  const signal = running === null ? context.signal : AbortSignal.any([context.signal, running.signal]);
  const stillPermitted = () => isStillPermitted(line, begun);
  try {
    const result = await run(line, begun, { ...context, signal, stillPermitted });
    watch.step('finish');
    return await finish(line, begun, result);
  } finally {
    running?.leave();
  }
}

/** Whether the current policies let a call continue that has begun: a forbid that was added since then counts. */
function isStillPermitted(line: Line, { grant }: Begun): boolean {
  const { policy, store, budgets, clock } = line;
  policy.refresh();
  if (policy.holds(grant.setDigest)) return true;
  const { call: checked, approval } = grant;
  const nowMs = clock.nowMs();
  const budgetLeft = left(store, budgets, checked, nowMs);
  return authorize(policy, checked, { budgetLeft, approval, nowMs }).verdict === 'allow';
}

/** A decision that is outdated by a change of the policies, or by the same call elsewhere, is made again. */
async function admitAndBegin(line: Line, call: ToolCall, watch: CallWatch): Promise<Begun | Ended> {
  for (let attempt = 1; attempt <= MAX_DECISIONS; attempt++) {
    watch.step('admit');
    const before = await repeated(line, call);
    if (before !== null) return before;
    const joined = joinSession(line, call);
    if (!joined.ok) return refuseUnjoined(line, call, joined.problem);
    line.running.joined(joined.value);
    await discover(line, joined.value);
    const admission = await admit(line, joined.value);
    watch.step('begin');
    const begun = await begin(line, joined.value, admission);
    if (begun.kind !== 'stale') return begun;
  }
  throw new CodedError(
    'policy/unavailable',
    'Cannot decide call: the policies change faster than it can begin',
  );
}

/** Only names that can be recorded start anything; `admit` refuses the others. */
async function discover({ registry, executors, redact }: Line, call: ToolCall): Promise<void> {
  if (unrecordableName(call, redact) !== null) return;
  const upstream = registry.undiscovered(call.tool);
  if (upstream !== null) await executors.upstream?.discover(upstream, call);
}

async function run(line: Line, begun: Begun, context: RunContext): Promise<RunResult> {
  const { grant, limits } = begun;
  const startedMs = line.clock.monotonicMs();
  try {
    const executor = executorOf(line.executors, grant.call);
    if (executor === undefined) throw new CodedError('tier/unenforceable', lackOf(grant.call));
    const result = await executor.run(grant, limits, context);
    return { ...result, ending: await checkedEnding(line, begun, result.ending) };
  } catch (error) {
    const wallMs = Math.ceil(line.clock.monotonicMs() - startedMs);
    return brokenResult(line, begun, error, wallMs);
  }
}

async function checkedEnding(line: Line, { grant }: Begun, ending: RunEnding): Promise<RunEnding> {
  if (ending.status !== 'ok') return ending;
  const problem = await line.registry.outputProblem(grant.call.tool, ending.output);
  if (problem === null) return ending;
  const message = `Cannot accept the output of ${grant.call.tool.id}: ${problem}`;
  return { status: 'failed', code: 'tier/invalid-output', message, output: ending.output, truncated: false };
}

/**
 * A tier that throws has broken, not failed: the call is closed as a fault. It is charged what the tier knows it used;
 * if the tier knows nothing, one call and its time.
 */
async function brokenResult(
  line: Line,
  { facts }: Begun,
  error: unknown,
  wallMs: number,
): Promise<RunResult> {
  const isTierFault = error instanceof TierFault;
  const cause = isTierFault ? error.cause : error;
  const incident = await recordFault(line, facts, cause).catch(() => 'that could not be recorded');
  const message = `Cannot finish call: the tier broke, incident ${incident}`;
  const fault = { status: 'failed', code: 'gateway/fault' } as const;
  const ending = { ...fault, message, output: null, truncated: false };
  if (isTierFault) return { ...error.soFar, ending };
  return { ending, usage: { ...NO_USAGE, calls: 1, wallMs }, execution: UNKNOWN_EXECUTION };
}

export type RunningCall = Pick<
  KeptResult,
  'callId' | 'principal' | 'tenant' | 'tool' | 'run' | 'session' | 'door'
> & {
  readonly startedAtMs: number;
};

type Entered = { readonly call: RunningCall; readonly cancel: AbortController };

/** The calls of this process that have not ended, so that one can be cancelled by its id. */
export class RunningCalls {
  readonly #calls = new Map<string, Entered>();

  get size(): number {
    return this.#calls.size;
  }

  list(): readonly RunningCall[] {
    return [...this.#calls.values()].map(({ call }) => call);
  }

  get(callId: string): RunningCall | null {
    return this.#calls.get(callId)?.call ?? null;
  }

  /** Notes the session that a call turned out to belong to. */
  joined(call: ToolCall): void {
    const entered = this.#calls.get(call.id);
    if (entered === undefined) return;
    const facts = { ...entered.call, run: runOf(call), session: call.session ?? null };
    this.#calls.set(call.id, { ...entered, call: facts });
  }

  /** False where no such call is running here. */
  cancel(callId: string): boolean {
    const entered = this.#calls.get(callId);
    entered?.cancel.abort(new Error('cancelled by request'));
    return entered !== undefined;
  }

  /** Adds a call; the signal fires when its caller gives up or it is cancelled by request. */
  enter(call: ToolCall, signal: AbortSignal): { readonly signal: AbortSignal; readonly leave: () => void } {
    const { id: callId, tenant, tool, run, door, receivedAtMs: startedAtMs } = call;
    const principal = formatPrincipal(call.principal);
    const facts = { callId, principal, tenant, tool, run, session: null, door, startedAtMs };
    const cancel = new AbortController();
    const passOn = () => cancel.abort(signal.reason);
    if (signal.aborted) passOn();
    else signal.addEventListener('abort', passOn, { once: true });
    this.#calls.set(callId, { call: facts, cancel });
    const leave = () => {
      signal.removeEventListener('abort', passOn);
      this.#calls.delete(callId);
    };
    return { signal: cancel.signal, leave };
  }
}

/** What a door knows about a call, beside its caller. */
export type AskedCall = Pick<ToolCall, 'tool' | 'rawInput' | 'door'> &
  Partial<Pick<ToolCall, 'run' | 'connection' | 'timeoutMs' | 'idempotencyKey' | 'trace'>>;

/** A call as a door submits it: its identity comes from the credential, the rest from the request. */
export function doorCall(
  { clock, random }: Pick<Records, 'clock' | 'random'>,
  caller: Caller,
  asked: AskedCall,
): ToolCall {
  const { principal, tenant } = caller;
  const receivedAtMs = clock.nowMs();
  const id = makeId('call', receivedAtMs, random);
  const source = sourceOf(caller);
  return { run: null, timeoutMs: null, ...asked, id, principal, tenant, source, receivedAtMs };
}
