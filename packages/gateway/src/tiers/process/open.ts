/** Makes ready what commands need of this machine; nothing is started and no group is made before the first call. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { type Cgroups, openCgroups } from '../cgroup/cgroups.ts';
import { sweepCgroups } from '../cgroup/sweep.ts';
import { LaunchQueue } from '../child/queue.ts';
import type { Tier } from '../tier.ts';
import { commandTiers } from './index.ts';
import type { ProbeOptions } from './probe.ts';

export type CommandOptions = {
  readonly clock: Clock;
  readonly launchers: readonly string[];
  /** The user and group id of commands where the gateway is root. */
  readonly firstUid: number;
  /** Tells the groups of this state directory and process from those of others. */
  readonly owner: { readonly house: string; readonly process: string };
  readonly isGone: (process: string) => boolean;
};

export type Commands = {
  readonly tiers: { readonly b: Tier; readonly c: Tier };
  readonly cgroups: Cgroups;
  readonly probeOptions: ProbeOptions;
};

/** More launches at once than this only wait for each other. */
const PER_CORE = 2;

export function openCommands({ clock, launchers, firstUid, owner, isGone }: CommandOptions): Commands {
  const cgroups = openCgroups({
    mountinfo: textOf('/proc/self/mountinfo'),
    selfCgroup: textOf('/proc/self/cgroup'),
    prefix: 'palisade',
    owner,
  });
  const runAs = process.getuid?.() === 0 ? { uid: firstUid, gid: firstUid } : null;
  const queue = new LaunchQueue({ width: PER_CORE * availableParallelism(), clock });
  const probeOptions = { clock, launchers, runAs };
  let swept: Promise<unknown> | null = null;
  const makeGroup = (id: string, limits: { readonly memoryBytes: number; readonly processes: number }) => {
    // What a process that was killed has left is ended before anything new is begun.
    swept ??= sweepCgroups(cgroups, isGone).catch(() => undefined);
    try {
      return cgroups.make(id, limits);
    } catch (error) {
      // Without a group the limits of each process hold, and the receipt has no line of a group.
      if (error instanceof CodedError) return null;
      throw error;
    }
  };
  const kit = {
    clock,
    queue,
    runAs,
    makeGroup: (id: string, { limits }: { limits: { memoryBytes: number; processes: number } }) =>
      makeGroup(id, { memoryBytes: limits.memoryBytes, processes: limits.processes + HELPERS }),
  };
  return { tiers: commandTiers(kit, probeOptions), cgroups, probeOptions };
}

/** The launcher, bubblewrap and their first children are in the group as well. */
const HELPERS = 8;

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
