/** Prepares what commands need of this machine; nothing is started and no group is made before the first call. */
import { availableParallelism } from 'node:os';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { ProcessLimits, ProcessTerms } from '../../core/process.ts';
import { type Owner, openCgroups, type Swept, sweepCgroups } from '../cgroup/cgroups.ts';
import type { StartPlan } from '../child/child.ts';
import { LaunchQueue } from '../child/queue.ts';
import { Starter } from '../child/starter.ts';
import type { Networks } from '../network/networks.ts';
import type { Recordings } from '../undo/recordings.ts';
import { LeftRuns, type LeftRunsOptions, processIdentity } from '../workspace/left-runs.ts';
import { Baselines } from '../workspace/overlaps.ts';
import { RunFiles } from '../workspace/run-files.ts';
import { commandTiers, type TierFloor } from './index.ts';
import { inspectTiers } from './inspect.ts';
import { textOf } from './machine.ts';
import type { Launchers, ProbeOptions, TierRow } from './tier.ts';
import { Cleanup, WarmSandboxes } from './warm-sandboxes.ts';

type CommandOptions = {
  readonly clock: Clock;
  readonly launchers: Launchers;
  /** Where what programs said of themselves is kept. */
  readonly said?: NonNullable<ProbeOptions['said']>;
  /** The user and group id of commands where the gateway is root. */
  readonly firstUid: number;
  /** Distinguishes the groups of this state directory and process from those of others. */
  readonly owner: Owner;
  readonly isGone: (process: string) => boolean;
  readonly limits: ProcessLimits;
  /** How many warm sandboxes are kept for each workspace. */
  readonly warm: number;
  readonly networks: Networks;
  /** Left out: any tier may be asked for. */
  readonly floor?: TierFloor;
  /** The folder for what runs wrote to protected files. */
  readonly quarantine: string;
  /** Records what commands change; left out or null: that is off. */
  readonly recordings?: Recordings | null;
  /** Where runs are kept for the case that the gateway is killed; without it they are not. */
  readonly left?: Pick<LeftRunsOptions, 'forbidden' | 'onLeft'> & { readonly folder: string };
};

export type Commands = {
  readonly tiers: ReturnType<typeof commandTiers>;
  readonly inspect: () => Promise<readonly TierRow[]>;
  /** Ends what killed gateways have left of their runs. Returns at once where there is nothing. */
  readonly sweep: () => Promise<Swept>;
  /** Restores the workspaces of runs that killed gateways have left. */
  readonly restoreLeft: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** More simultaneous launches than this only wait for each other. */
const PER_CORE = 2;

/** Commands that run at the same time; the others wait for up to their own time limit. */
export const AT_ONCE = 64;

/** A warm sandbox shows the system as it was when it was made, so it is not kept for long. */
const IDLE_MS = 60_000;

export function openCommands(options: CommandOptions): Commands {
  const { clock, launchers, firstUid, owner, isGone, limits, networks, quarantine } = options;
  const starter = new Starter();
  const closing = new Cleanup(AT_ONCE);
  let trials = 0;
  const warm = new WarmSandboxes({ size: options.warm, idleMs: IDLE_MS });
  const cgroups = openCgroups({
    mountinfo: textOf('/proc/self/mountinfo'),
    selfCgroup: textOf('/proc/self/cgroup'),
    prefix: 'palisade',
    owner,
  });
  const runAs = process.getuid?.() === 0 ? { uid: firstUid, gid: firstUid } : null;
  const queue = new LaunchQueue({ width: PER_CORE * availableParallelism(), clock });
  const runs = new LaunchQueue({ width: AT_ONCE, clock });
  const probeOptions = { clock, launchers, runAs };
  const lookOptions = options.said === undefined ? probeOptions : { ...probeOptions, said: options.said };
  const makeGroup = (id: string, { limits: { memoryBytes, processes } }: ProcessTerms) => {
    try {
      return cgroups.make(id, { memoryBytes, processes: processes + HELPERS });
    } catch (error) {
      // Without groups the limits of each process apply, and the receipt says that there was none. Boundary: where the
      // machine supports groups, a run that gets none does not start.
      if (error instanceof CodedError && !cgroups.probe().ok) return null;
      throw error;
    }
  };
  const nextTrial = () => {
    trials += 1;
    return trials;
  };
  const start = (launcher: string, plan: StartPlan) => starter.start(launcher, plan);
  const sweep = () => sweepCgroups(cgroups, isGone);
  const leftRuns = leftRunsOf(options, sweep);
  const starterOf = (launcher: string) => processIdentity(starter.pidOf(launcher));
  const shared = { clock, queue, runs, warm, closing, networks, baselines: new Baselines(), quarantine };
  const recordings = options.recordings ?? null;
  const floor = options.floor === undefined ? {} : { floor: options.floor };
  const kit = {
    ...shared,
    ...floor,
    leftRuns,
    recordings,
    starterOf,
    runAs,
    limits,
    nextTrial,
    start,
    makeGroup,
  };
  const inspect = () => inspectTiers({ options: probeOptions, kit, probeCgroups: cgroups.probe });
  const close = async () => {
    await Promise.all([warm.close(), closing.finish()]);
    starter.close();
  };
  const restoreLeft = async () => leftRuns?.restoreAll();
  return { tiers: commandTiers(kit, lookOptions), inspect, sweep, restoreLeft, close };
}

function leftRunsOf(
  { left, owner, isGone, quarantine }: CommandOptions,
  endGroups: LeftRunsOptions['endGroups'],
): LeftRuns | null {
  if (left === undefined) return null;
  const { folder, ...rest } = left;
  return new LeftRuns({ ...rest, files: new RunFiles(folder, owner.process), isGone, quarantine, endGroups });
}

/** Also in the group: the launcher or bubblewrap outside, and the first process of the namespaces. */
const HELPERS = 2;
