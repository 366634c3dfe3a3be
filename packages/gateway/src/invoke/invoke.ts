import { left } from '../budget/left.ts';
import type { ToolCall } from '../core/call.ts';
import { CodedError } from '../core/coded-error.ts';
import { NO_USAGE } from '../core/limits.ts';
import type { CallWatch } from '../core/observer.ts';
import { authorize } from '../policy/authorize.ts';
import type { RunEnding, RunResult, RunTies, Ties } from '../tiers/tier.ts';
import { TierFault } from '../tiers/tier-fault.ts';
import { admit } from './admit.ts';
import { type Begun, begin } from './begin.ts';
import { type Ended, UNKNOWN_EXECUTION } from './ending.ts';
import { recordFault, refuseOrFault } from './fault.ts';
import { finish } from './finish.ts';
import type { Gateway } from './gateway.ts';
import { repeated } from './repeated.ts';

const MAX_DECISIONS = 8;

/*
 * The line. Every door ends here and nothing runs anywhere else:
 *
 *   admit   find the tool, read the input once, ask the policies (and, where they say so, a person)
 *   begin   one durable transaction: budgets reserved, approval used, intent written; or the refusal, written
 *   run     the tier spends the grant and holds the limits
 *   finish  one durable transaction: budgets settled, receipt signed, ending written
 *
 * It never throws: what breaks becomes a refusal before the run, or a failed ending after it.
 */
export async function invoke(
  gateway: Gateway,
  call: ToolCall,
  signal: AbortSignal,
  onOutput: Ties['onOutput'] = () => undefined,
): Promise<Ended> {
  const entered = gateway.running.enter(call, signal);
  const watch = gateway.observer(call);
  try {
    const ended = await runAlong(gateway, call, { signal: entered.signal, onOutput, watch });
    watch.ended(ended.outcome, ended.usage);
    return ended;
  } finally {
    entered.leave();
  }
}

type Along = Required<Ties> & { readonly watch: CallWatch };

async function runAlong(
  gateway: Gateway,
  call: ToolCall,
  { signal, onOutput, watch }: Along,
): Promise<Ended> {
  let begun: Begun | Ended;
  try {
    begun = await admitAndBegin(gateway, call, watch);
  } catch (error) {
    return refuseOrFault(gateway, call, error);
  }
  if (begun.kind === 'ended') return begun;
  watch.step('run');
  const { skill } = begun.grant.call.tool;
  const running = skill === undefined ? null : gateway.skills.running.enter(skill);
  const either = running === null ? signal : AbortSignal.any([signal, running.signal]);
  const ties = { signal: either, onOutput, mayGoOn: () => mayGoOn(gateway, begun) };
  try {
    const result = await run(gateway, begun, ties);
    watch.step('finish');
    return await finish(gateway, begun, result);
  } finally {
    running?.leave();
  }
}

/** Whether the policies of this moment let a call go on that has begun: a forbid that came meanwhile counts. */
function mayGoOn(gateway: Gateway, { grant }: Begun): boolean {
  const { policy, store, budgets, clock } = gateway;
  policy.refresh();
  if (policy.holds(grant.setDigest)) return true;
  const { call: checked, approval } = grant;
  const nowMs = clock.nowMs();
  const budgetLeft = left(store, budgets, checked, nowMs);
  return authorize(policy, checked, { budgetLeft, approval, nowMs }).verdict === 'allow';
}

/** A decision that is overtaken by a change of the policies, or by the same call elsewhere, is made again. */
async function admitAndBegin(gateway: Gateway, call: ToolCall, watch: CallWatch): Promise<Begun | Ended> {
  for (let attempt = 1; attempt <= MAX_DECISIONS; attempt++) {
    watch.step('admit');
    const before = await repeated(gateway, call);
    if (before !== null) return before;
    const admission = await admit(gateway, call);
    watch.step('begin');
    const begun = await begin(gateway, call, admission);
    if (begun.kind !== 'stale') return begun;
  }
  throw new CodedError(
    'policy/unavailable',
    'Cannot decide call: the policies change faster than it can begin',
  );
}

async function run(gateway: Gateway, begun: Begun, ties: RunTies): Promise<RunResult> {
  const { grant, limits } = begun;
  const { tool, tier: name } = grant.call;
  const startedMs = gateway.clock.monotonicMs();
  try {
    const tier = gateway.tiers[name];
    if (tier === undefined)
      throw new CodedError('tier/unenforceable', `Cannot run ${tool.id}: there is no tier "${name}" here`);
    const result = await tier.run(grant, limits, ties);
    return { ...result, ending: await checkedEnding(gateway, begun, result.ending) };
  } catch (error) {
    const wallMs = Math.ceil(gateway.clock.monotonicMs() - startedMs);
    return brokenResult(gateway, begun, error, wallMs);
  }
}

async function checkedEnding(gateway: Gateway, { grant }: Begun, ending: RunEnding): Promise<RunEnding> {
  if (ending.status !== 'ok') return ending;
  const problem = (await gateway.registry.outputCheck(grant.call.tool))(ending.output);
  if (problem === null) return ending;
  const message = `Cannot accept the output of ${grant.call.tool.id}: ${problem}`;
  return { status: 'failed', code: 'tier/invalid-output', message, output: ending.output, truncated: false };
}

/**
 * A tier that throws has broken, not failed: the call is closed as a fault. It costs what the tier knows that it used; of
 * one that knows nothing that is one call and its time.
 */
async function brokenResult(
  gateway: Gateway,
  { facts }: Begun,
  error: unknown,
  wallMs: number,
): Promise<RunResult> {
  const isTold = error instanceof TierFault;
  const cause = isTold ? error.cause : error;
  const incident = await recordFault(gateway, facts, cause).catch(() => 'that could not be recorded');
  const message = `Cannot finish call: the tier broke, incident ${incident}`;
  const ending = {
    status: 'failed',
    code: 'gateway/fault',
    message,
    output: null,
    truncated: false,
  } as const;
  if (isTold) return { ...error.soFar, ending };
  return { ending, usage: { ...NO_USAGE, calls: 1, wallMs }, execution: UNKNOWN_EXECUTION };
}
