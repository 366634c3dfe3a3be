/**
 * Runs one command in a tier: the grant is spent, the workspace is held, a group is made, the plan becomes a process,
 * and what came of it is read back from the launcher and the kernel. The command is hostile from its first instruction;
 * the terms were checked. Whatever happens, the group, the descriptors and the processes are gone when this returns.
 */
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { type Limits, NO_USAGE } from '../../core/limits.ts';
import type { FailedCode } from '../../core/outcome.ts';
import type { PreparedProcess, ProcessTerms } from '../../core/process.ts';
import type { RunGroup } from '../cgroup/run-group.ts';
import type { LaunchQueue } from '../child/queue.ts';
import { runChild } from '../child/start-child.ts';
import { type LauncherStatus, parseStatus } from '../child/status.ts';
import type { RunResult, Ties } from '../tier.ts';
import type { CommandPlan, CommandTier } from './command-plan.ts';
import { CpuWatch } from './cpu-watch.ts';
import { type OpenDescriptors, openDescriptors } from './descriptors.ts';
import { cpuMsCharged, isTruncated, outputOfRun, type Ran, type Verdict, verdictOf } from './ending.ts';
import { type HeldWorkspace, holdWorkspace } from './held-workspace.ts';
import { type Before, lookAfter, lookBefore } from './hygiene.ts';

/** What all runs of a gateway share. */
export type CommandKit = {
  readonly clock: Clock;
  /** Holds a place while a sandbox is built: more at once only wait for each other. */
  readonly queue: LaunchQueue;
  /** Holds a place for as long as a command runs. */
  readonly runs: LaunchQueue;
  /** The launcher's file. */
  readonly launcher: string;
  /** A group for a run, or null where this machine gives none. */
  readonly makeGroup: (id: string, terms: ProcessTerms) => RunGroup | null;
  /** The user of runs where the gateway is root; null where it is not. */
  readonly runAs: { readonly uid: number; readonly gid: number } | null;
};

/** The launcher holds the limits itself; ours stands behind it, a little later. */
const BEHIND_MS = 2_000;
const GRACE_MS = 500;

/** Runs the command of a granted call to its end. */
export async function runCommand(
  kit: CommandKit,
  tier: CommandTier,
  call: { readonly checked: CheckedCall; readonly limits: Limits },
  ties: Ties,
): Promise<RunResult> {
  const process = processOf(call.checked);
  const terms = termsWithin(process.terms, call.limits);
  const startedMs = kit.clock.monotonicMs();
  const deadlineMs = startedMs + terms.limits.wallMs;
  try {
    const job = { terms, id: call.checked.call.id, deadlineMs, stillHolds: process.stillHolds };
    const patience = { signal: ties.signal, deadlineMs };
    const launch = () =>
      kit.queue.run((leave) => runHere(kit, tier, { ...job, onBegun: leave }, ties), patience);
    return await kit.runs.run(launch, patience);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    const wallMs = Math.ceil(kit.clock.monotonicMs() - startedMs);
    return unstarted(tier, error, wallMs);
  }
}

function processOf({ process, tool }: CheckedCall): PreparedProcess {
  if (process === null) throw new TypeError(`Cannot run ${tool.id}: it is no command`);
  return process;
}

/** The terms with what is left of each limit after budgets and policies: never more than was asked. */
export function termsWithin(terms: ProcessTerms, limits: Limits): ProcessTerms {
  const { wallMs, cpuMs, memoryBytes, outputBytes } = terms.limits;
  return {
    ...terms,
    limits: {
      ...terms.limits,
      wallMs: Math.min(wallMs, limits.wallMs),
      cpuMs: Math.min(cpuMs, limits.cpuMs),
      memoryBytes: Math.min(memoryBytes, limits.memoryBytes),
      outputBytes: Math.min(outputBytes, limits.outputBytes),
    },
  };
}

type Job = Pick<PreparedProcess, 'terms' | 'stillHolds'> & {
  readonly id: string;
  readonly deadlineMs: number;
  /** Told when the launcher has said something: its sandbox stands, or does not. */
  readonly onBegun: () => void;
};

async function runHere(kit: CommandKit, tier: CommandTier, asked: Job, ties: Ties): Promise<RunResult> {
  const job = { ...asked, terms: withTimeLeft(asked, kit.clock) };
  const { terms } = job;
  const held = holdWorkspace(terms.workspace);
  let group: RunGroup | null = null;
  let open: OpenDescriptors | null = null;
  let watch: CpuWatch | null = null;
  try {
    const before = await lookBefore(terms.workspace);
    group = kit.makeGroup(job.id, terms);
    const cgroupFds = group?.descriptors ?? [];
    const plan = demandPlan(tier, terms, { kit, held, cgroups: cgroupFds.length });
    const sources = { args: plan.args, workspaceFd: held.fd, launcher: kit.launcher, cgroupFds };
    open = openDescriptors(plan.descriptors, sources);
    watch = new CpuWatch(group, terms.limits.cpuMs);
    demandUnchanged(job, held);
    const signal = AbortSignal.any([ties.signal, watch.signal]);
    const ran = await start(kit, { plan, job, open }, { ...ties, signal });
    // What is told is the limit that was asked for, not what the wait had left of it.
    return await resultOf(tier, { ...ran, plan, terms: asked.terms, group, before });
  } finally {
    watch?.close();
    open?.close();
    held.close();
    await group?.remove().catch(() => undefined);
  }
}

/** The wait for a place is a part of the call's time. */
function withTimeLeft({ terms, deadlineMs }: Job, clock: Clock): ProcessTerms {
  const wallMs = Math.max(1, Math.ceil(deadlineMs - clock.monotonicMs()));
  return { ...terms, limits: { ...terms.limits, wallMs: Math.min(wallMs, terms.limits.wallMs) } };
}

/** Boundary: what was judged can have been swapped since; whoever does it after this has the time of one fork for it. */
function demandUnchanged({ stillHolds }: Job, held: HeldWorkspace): void {
  const change = stillHolds() ?? (held.isInPlace() ? null : 'the workspace is another directory');
  if (change === null) return;
  throw new CodedError(
    'runner/outside-workspace',
    `Cannot start command: ${change}, expected all as it was judged`,
  );
}

function demandPlan(
  tier: CommandTier,
  terms: ProcessTerms,
  { kit, held, cgroups }: { kit: CommandKit; held: HeldWorkspace; cgroups: number },
): CommandPlan {
  const asRoot = kit.runAs === null ? null : { ...kit.runAs, owner: held.owner };
  const plan = tier.plan(terms, { cgroups, asRoot });
  if (plan.ok) return plan;
  throw new CodedError(plan.code, plan.message, { remedy: plan.remedy });
}

type Started = {
  readonly end: Awaited<ReturnType<typeof runChild>>;
  readonly status: LauncherStatus | null;
};

async function start(
  { clock }: CommandKit,
  { plan, job, open }: { plan: CommandPlan; job: Job; open: OpenDescriptors },
  { signal, onOutput }: Ties,
): Promise<Started> {
  const { file, argv: args, env, cwd } = plan;
  const { terms, onBegun } = job;
  const { wallMs, outputBytes } = terms.limits;
  const onRead = (index: number) => {
    if (index === open.statusIndex) onBegun();
  };
  const end = await runChild(
    {
      ...{ file, args, env, cwd, descriptors: open.descriptors },
      stdin: terms.stdin === null ? null : Buffer.from(terms.stdin),
      outputBytes,
      wallMs: wallMs + BEHIND_MS,
      graceMs: GRACE_MS,
    },
    { signal, clock, onRead, ...(onOutput === undefined ? {} : { onOutput }) },
  );
  const parsed = parseStatus(end.read[open.statusIndex] ?? new Uint8Array(0));
  return { end, status: parsed.ok ? parsed.value : null };
}

type Finished = Started & {
  readonly plan: CommandPlan;
  readonly terms: ProcessTerms;
  readonly group: RunGroup | null;
  readonly before: Before;
};

async function resultOf(tier: CommandTier, finished: Finished): Promise<RunResult> {
  const { end, status, terms, group, before } = finished;
  const ran: Ran = { end, status, group: group?.usage() ?? null, limits: terms.limits };
  const after = await lookAfter(terms.workspace, before);
  const verdict = proven(finished) ?? verdictOf(ran);
  const limit = verdict.kind === 'ok' ? null : verdict.limit;
  const output = { ...outputOfRun(ran, limit), ...after };
  const isolation = { ...tier.about, ...(group?.facts() ?? { cgroup_kind: 'none' }), ...status?.facts };
  const cpuMs = cpuMsCharged(ran);
  return {
    ending:
      verdict.kind === 'ok'
        ? { status: 'ok', output }
        : {
            status: 'failed',
            code: verdict.code,
            message: verdict.message,
            output,
            truncated: isTruncated(ran),
          },
    usage: { ...NO_USAGE, calls: 1, wallMs: Math.ceil(end.wallMs), cpuMs, outputBytes: end.outputBytes },
    execution: { tier: tier.name, executor: tier.executor, isolation },
  };
}

/** Boundary: a command that ran without its walls being reported is not called a success, whatever it says. */
function proven({ status, plan }: Finished): Verdict | null {
  if (status === null || status.pid === null) return null;
  const missing = plan.missing(status.facts);
  if (missing === null) return null;
  const message = `Cannot vouch for the sandbox: ${missing}`;
  return { kind: 'failed', code: 'tier/unproven', message, limit: null };
}

/** It never began: the queue was too long, or the machine no longer gives what was planned. */
function unstarted(tier: CommandTier, error: CodedError, wallMs: number): RunResult {
  const isKnown = error.code === 'tier/cancelled' || error.code === 'tier/timed-out';
  const code: FailedCode = isKnown ? (error.code as FailedCode) : 'tier/not-started';
  return {
    ending: { status: 'failed', code, message: error.message, output: null, truncated: false },
    usage: { ...NO_USAGE, calls: 1, wallMs },
    execution: { tier: tier.name, executor: tier.executor, isolation: { boundary: 'never started' } },
  };
}
