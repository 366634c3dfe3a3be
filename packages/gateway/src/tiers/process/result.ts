/** The result of a command that has ended: the outcome, its usage, and its isolation. */
import type { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';
import { NO_USAGE } from '../../core/limits.ts';
import type { FailedCode } from '../../core/outcome.ts';
import type { ProcessTerms } from '../../core/process.ts';
import type { ChildEnd } from '../child/child.ts';
import { isGateShut, type LauncherStatus } from '../child/status.ts';
import type { RunNetwork } from '../network/networks.ts';
import { reportOf } from '../network/report.ts';
import type { RunResult } from '../tier.ts';
import { cpuMsCharged, isTruncated, outputOfRun, type Ran, type Verdict, verdictOf } from './ending.ts';
import type { LeftBehind } from './left-behind.ts';
import { limitsHeld } from './limits-held.ts';
import type { CommandTier } from './plan.ts';
import type { Ready } from './sandbox.ts';

/** A command that has ended, and what its launcher reported. */
export type Started = { readonly end: ChildEnd; readonly status: LauncherStatus | null };

type Finished = Started & {
  readonly ready: Ready;
  readonly terms: ProcessTerms;
  readonly left: LeftBehind;
  readonly network: RunNetwork | null;
};

/** The result of a command that ran, or started to. */
export function resultOf(tier: CommandTier, finished: Finished): RunResult {
  const { end, status, terms, left, network } = finished;
  const { sandbox, isWarm } = finished.ready;
  const { group } = sandbox;
  const ran: Ran = { end, status, group: group?.usage() ?? null, limits: terms.limits };
  const verdict = proven(finished) ?? verdictOf(ran);
  const report = reportOf(terms, network?.facts() ?? null);
  const output = { ...outputOfRun(ran, verdict?.limit ?? null), ...left.output, ...report.output };
  const isolation = {
    ...tier.about,
    started: isWarm ? 'warm' : 'cold',
    ...report.isolation,
    ...left.isolation,
    ...limitsHeld(group),
    ...status?.facts,
  };
  const cpuMs = cpuMsCharged(ran);
  return {
    ending: verdict === null ? { status: 'ok', output } : failedWith(verdict, output, isTruncated(ran)),
    usage: {
      ...{ ...NO_USAGE, calls: 1, wallMs: Math.ceil(end.wallMs), cpuMs },
      ...{ outputBytes: end.outputBytes, egressBytes: report.bytes },
    },
    execution: { tier: tier.name, executor: tier.executor, isolation },
    ...(report.record === null ? {} : { egress: report.record }),
  };
}

function failedWith({ code, message }: Pick<Verdict, 'code' | 'message'>, output: Json, truncated: boolean) {
  return { status: 'failed', code, message, output, truncated } as const;
}

/** Boundary: a command that ran without its isolation being reported never counts as a success, whatever it says. */
function proven({ status, ready }: Finished): Verdict | null {
  if (status === null) return null;
  // A command that failed to start, at another step than the comparison of its facts, has nothing to vouch for.
  if (!isGateShut(status) && (status.pid === null || status.failed !== null)) return null;
  const gap = ready.plan.missing(status.facts)?.text ?? status.failed?.step;
  if (gap === undefined) return null;
  const message = `Cannot vouch for the sandbox: ${gap}${status.pid === null ? '; the command was not started' : ''}`;
  return { code: 'tier/unproven', message, limit: null };
}

/** It never started: the queue was too long, or the machine no longer provides what was planned. */
export function unstarted(tier: CommandTier, error: CodedError, wallMs: number): RunResult {
  const isKnown = error.code === 'tier/cancelled' || error.code === 'tier/timed-out';
  const code: FailedCode = isKnown ? (error.code as FailedCode) : 'tier/not-started';
  return {
    ending: failedWith({ code, message: error.message }, null, false),
    usage: { ...NO_USAGE, calls: 1, wallMs },
    execution: { tier: tier.name, executor: tier.executor, isolation: { boundary: 'never started' } },
  };
}
