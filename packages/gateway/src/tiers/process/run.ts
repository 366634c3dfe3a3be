/**
 * Runs one command in a tier: the grant is spent, the workspace is held, a group is made, the plan becomes a process,
 * and its result is read back from the launcher and the kernel. The command is hostile from its first instruction; the
 * terms were checked. Whatever happens, the group, the descriptors and the processes are gone when this returns.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Limits } from '../../core/limits.ts';
import type { PreparedProcess, ProcessTerms } from '../../core/process.ts';
import type { StdinWriter } from '../child/child.ts';
import type { LaunchQueue } from '../child/queue.ts';
import { parseStatus } from '../child/status.ts';
import type { Networks, RunNetwork, Runner } from '../network/networks.ts';
import { SAMPLE_PASS } from '../network/plan.ts';
import { openPorts, type RunPorts } from '../network/ports.ts';
import type { Dialogue, RunContext, RunResult } from '../tier.ts';
import type { Recordings } from '../undo/recordings.ts';
import { type HeldWorkspace, holdWorkspace } from '../workspace/held-directory.ts';
import type { LeftRuns } from '../workspace/left-runs.ts';
import type { Baselines } from '../workspace/overlaps.ts';
import { CpuWatch } from './cpu-watch.ts';
import { resultOf, type Started, unstarted } from './ending.ts';
import { COMMAND_SWITCHES, SERVER_SWITCHES } from './hints.ts';
import { type Before, lookAfter, lookBefore } from './left-behind.ts';
import type { CommandTier } from './plan.ts';
import { PolicyWatch } from './policy-watch.ts';
import { type Proof, proofOf } from './proof.ts';
import { readySandbox } from './ready-sandbox.ts';
import { openSandbox, type Ready, runInSandbox, type SandboxKit, type Serve, statusOf } from './sandbox.ts';
import type { Cleanup, WarmSandboxes } from './warm-sandboxes.ts';

/** What all runs of a gateway share. */
export type CommandKit = SandboxKit & {
  readonly clock: Clock;
  /** A slot for building a sandbox: more at the same time only wait for each other. */
  readonly queue: LaunchQueue;
  /** A slot for as long as a command runs. */
  readonly runs: LaunchQueue;
  readonly warm: WarmSandboxes;
  readonly closing: Cleanup;
  readonly networks: Networks;
  readonly baselines: Baselines;
  /** The folder for what runs wrote to protected files. */
  readonly quarantine: string;
  /** Records what commands change, so that it can be undone; null where that is off. */
  readonly recordings?: Recordings | null;
  /** Keeps runs for the case that the gateway is killed; null where no other gateway follows. */
  readonly leftRuns: LeftRuns | null;
  /** The process that ends all processes of a run. */
  readonly starterOf: (launcher: string) => string;
};

/** Runs the command of a granted call to its end. */
export async function runCommand(
  kit: CommandKit,
  tier: CommandTier,
  call: { readonly checked: CheckedCall; readonly limits: Limits },
  context: RunContext,
): Promise<RunResult> {
  const process = processOf(call.checked);
  const terms = termsWithin(process.terms, call.limits);
  const startedMs = kit.clock.monotonicMs();
  const deadlineMs = startedMs + terms.limits.wallMs;
  try {
    const { id, tenant, principal } = call.checked.call;
    const runner = { id, tenant, principal, tool: call.checked.tool.id };
    const { egressBytes } = call.limits;
    const job = { runner, terms, deadlineMs, stillHolds: process.stillHolds, egressBytes };
    const patience = { signal: context.signal, deadlineMs };
    const launch = () =>
      kit.queue.run((leave) => runHere(kit, tier, { ...job, onBegun: leave }, context), patience);
    return await kit.runs.run(launch, patience);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    const wallMs = Math.ceil(kit.clock.monotonicMs() - startedMs);
    return unstarted(tier, error, wallMs);
  }
}

function processOf({ process, tool }: CheckedCall): PreparedProcess {
  if (process === null) throw new TypeError(`Cannot run ${tool.id}: it is not a command`);
  return process;
}

/** The terms with what is left of each limit after budgets and policies: never more than was requested. */
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
  readonly deadlineMs: number;
  readonly runner: Runner;
  /** The limit for bytes sent and received together. */
  readonly egressBytes: number;
  /** Called when the launcher has reported something: its sandbox is ready, or failed. */
  readonly onBegun: () => void;
};

async function runHere(kit: CommandKit, tier: CommandTier, asked: Job, context: RunContext) {
  const job = { ...asked, terms: talkedTo(withTimeLeft(asked, kit.clock), context) };
  const { terms } = job;
  const isServer = context.dialogue?.isServer === true;
  const isKept = tier.name === 'c' && !isServer;
  const held = holdWorkspace(terms.workspace);
  let ready: Ready | null = null;
  let network: RunNetwork | null = null;
  let ports: RunPorts | null = null;
  let before: Before | null = null;
  try {
    const { runner, egressBytes } = job;
    const { stillPermitted: mayGoOn, dialogue, hosts } = context;
    ports = await openPorts(terms.ports);
    network = await kit.networks.make({ terms, runner, egressBytes, mayGoOn, hosts });
    demandUnchanged(job, held);
    const wish = { id: job.runner.id, terms, held, pass: network?.pass ?? SAMPLE_PASS };
    // A command with a dialogue runs for long, so no other call needs a sandbox like it soon.
    const opening = dialogue === undefined ? readySandbox(kit, tier, wish) : openSandbox(kit, tier, wish);
    // The sandbox is built meanwhile: nothing of the command runs in it before it is told to.
    const recorded = isServer ? null : runner;
    const looking = lookBefore(kit, { held, terms, id: runner.id, isKept, recorded });
    const [opened, looked] = await Promise.allSettled([opening, looking]);
    if (opened.status === 'fulfilled') ready = opened.value;
    if (looked.status === 'rejected') throw looked.reason;
    before = looked.value;
    if (ready === null) throw (opened as PromiseRejectedResult).reason;
    // Again, as building a sandbox takes time.
    demandUnchanged(job, held);
    let ran = await start(kit, { ready, job, network, ports }, context);
    if (ready.isWarm && hasNotBegun(ran)) {
      await kit.closing.add(ready.sandbox.close());
      ready = await openSandbox(kit, tier, wish);
      demandUnchanged(job, held);
      ran = await start(kit, { ready, job, network, ports }, context);
    }
    const left = await lookAfter(kit, { ...ran, ready, terms, before, isKept, id: runner.id });
    // The reported limit is the requested one, not what the wait had left of it.
    const switches = isServer ? SERVER_SWITCHES : COMMAND_SWITCHES;
    return resultOf(tier, { ...ran, ready, terms: asked.terms, left, network, ports }, switches);
  } finally {
    before?.close();
    held.close();
    network?.close();
    ports?.close();
    ready?.refill?.();
    if (ready !== null) await kit.closing.add(closeSoon(ready));
  }
}

/** In the next turn: the caller has its result first. */
async function closeSoon({ sandbox }: Ready): Promise<void> {
  await nextTurn();
  await sandbox.close();
}

/** The output of a command with a dialogue is not kept, so it has no quota; its reader bounds it. */
function talkedTo(terms: ProcessTerms, { dialogue }: RunContext): ProcessTerms {
  if (dialogue === undefined) return terms;
  const limits = { ...terms.limits, outputBytes: Number.MAX_SAFE_INTEGER };
  return { ...terms, stdin: '', limits, outputOverflow: 'kill' };
}

/** The wait for a slot counts as time of the call. */
function withTimeLeft({ terms, deadlineMs }: Job, clock: Clock): ProcessTerms {
  const wallMs = Math.max(1, Math.ceil(deadlineMs - clock.monotonicMs()));
  return { ...terms, limits: { ...terms.limits, wallMs: Math.min(wallMs, terms.limits.wallMs) } };
}

/** Boundary: what was checked may have been swapped; after this check an attacker has only the time of one fork. */
function demandUnchanged({ stillHolds }: Job, held: HeldWorkspace): void {
  const change = stillHolds(held.fd) ?? (held.isInPlace() ? null : 'the workspace is another directory');
  if (change === null) return;
  throw new CodedError(
    'runner/outside-workspace',
    `Cannot start command: ${change}, expected everything as it was when it was authorised`,
  );
}

type Starting = {
  readonly ready: Ready;
  readonly job: Job;
  readonly network: RunNetwork | null;
  readonly ports: RunPorts;
};

async function start(
  { clock }: CommandKit,
  { ready, job, network, ports }: Starting,
  context: RunContext,
): Promise<Started> {
  const cpu = new CpuWatch(ready.sandbox.group, job.terms.limits.cpuMs);
  const policies = new PolicyWatch(context);
  const { dialogue, onOutput } = context;
  const proof = dialogue === undefined && job.terms.ports.length === 0 ? null : proofOf(ready.plan);
  const talked = dialogue === undefined || proof === null ? null : talkWhenProved(proof, dialogue);
  if (proof !== null) connectWhenProved(proof, ready, ports);
  const ends = [context.signal, cpu.signal, policies.signal];
  const signal = AbortSignal.any(talked === null ? ends : [...ends, talked.signal]);
  const watch = {
    ...{ signal, clock, onRead: job.onBegun },
    ...(onOutput === undefined ? {} : { onOutput }),
    ...(talked === null ? {} : { feed: talked.feed }),
  };
  const serve: Serve = async (plan, servers) => network?.serve(plan, servers);
  const run = { plan: ready.plan, terms: job.terms, serve };
  const told = proof === null ? run : { ...run, onStatus: proof.onStatus };
  const end = await runInSandbox(ready.sandbox, told, watch).finally(() => {
    cpu.close();
    policies.close();
  });
  const parsed = parseStatus(statusOf(end));
  return { end, status: parsed.ok ? parsed.value : null };
}

/** Boundary: nothing is sent to a command before its isolation is proved, and a command without it is ended. */
function talkWhenProved({ proved }: Proof, { onStdin }: Dialogue) {
  const stop = new AbortController();
  return {
    signal: stop.signal,
    feed: (stdin: StdinWriter) =>
      void proved.then((lack) => (lack === null ? onStdin(stdin) : stop.abort())).catch(() => stop.abort()),
  };
}

/** Boundary: nothing of the host is connected to a command before its isolation is proved. */
function connectWhenProved({ proved }: Proof, { sandbox: { child } }: Ready, ports: RunPorts): void {
  if ('error' in child) return;
  void proved.then((lack) => (lack === null ? ports.serve(child.connect) : undefined));
}

/** The warm sandbox was gone: the launcher reports the pid of the command before it starts. */
function hasNotBegun({ end, status }: Started): boolean {
  return end.stopped === null && status !== null && !status.pid && !status.failed && !status.execError;
}
