import { join } from 'node:path';
import { CodedError } from '../../core/coded-error.ts';
import { type GroupLimits, SEPARATE_CONTROLLERS } from './controllers.table.ts';
import { type CgroupLayout, findCgroups, type Hierarchy } from './find-cgroups.ts';
import { type GroupFiles, machineFiles } from './group-files.ts';
import { type GroupNames, groupNames, type Owner } from './group-name.ts';
import { kindOf, type Place } from './part.ts';
import { makeRunGroup, RunGroup } from './run-group.ts';
import { type Settled, settle } from './settle.ts';
import { ownDirectory, type Refused } from './try-place.ts';

/*
 * Control groups for runs of native commands: the only limits that count a whole tree of processes, and a kill that no
 * daemon escapes. What comes in are the kernel's own tables and ids that we made; the processes in a group are hostile.
 * This room starts nothing: a launcher joins through the descriptors before it starts the command.
 *
 * What can go wrong: the machine gives us no group (the probe says so, with the fix), a limit is not taken (no group is
 * made), a process cannot be killed (the group stays and the next start tries again). It never moves or touches a
 * process or a group that is not its own. A command that runs with the gateway's own user and sees the cgroup file
 * system could leave its group: whoever plans the run hides that file system from it.
 */

export type Probe =
  | { readonly ok: true; readonly kind: 'v1' | 'v2' | 'hybrid'; readonly controllers: readonly string[] }
  | Refused;

/** What processes that are gone may have left: a name, who made it, and the means to end it. */
export type FoundGroup = { readonly name: string; readonly process: string; readonly group: RunGroup };

export type Cgroups = {
  /** Makes a group with limits and removes it again; says what is achieved, or why not and what would help. */
  readonly probe: () => Probe;
  /** A group with limits that the kernel has confirmed, or a refusal. */
  readonly make: (id: string, limits: GroupLimits) => RunGroup;
  /** Every group that a process of our house has made, our own included. */
  readonly list: () => FoundGroup[];
};

export type CgroupOptions = {
  /** The text of /proc/self/mountinfo; null where there is none. */
  readonly mountinfo: string | null;
  /** The text of /proc/self/cgroup; null where there is none. */
  readonly selfCgroup: string | null;
  readonly prefix: string;
  readonly owner: Owner;
  readonly files?: GroupFiles;
  readonly pid?: number;
};

/** The control groups of this machine. Nothing is touched before the first probe or group. */
export function openCgroups(options: CgroupOptions): Cgroups {
  const { mountinfo, selfCgroup, prefix, owner, files = machineFiles, pid = process.pid } = options;
  const names = groupNames(prefix, owner);
  const texts = new Map([
    ['/proc/self/mountinfo', mountinfo],
    ['/proc/self/cgroup', selfCgroup],
  ]);
  const layout = findCgroups((path) => (texts.has(path) ? (texts.get(path) ?? null) : files.read(path)));
  const look = () => settle(layout, { files, prefix, trialName: names.nameOf('trial'), pid });
  let settled: Settled | null = null;
  return {
    probe: () => {
      settled = look();
      return probeOf(settled);
    },
    make: (id, limits) => {
      // A refusal is not kept: what its fix has changed is seen without a restart.
      if (settled?.ok !== true) settled = look();
      return make(files, settled, names.nameOf(id), checked(limits));
    },
    list: () => list(files, layout, names, prefix),
  };
}

function probeOf(settled: Settled): Probe {
  if (!settled.ok) return settled;
  const { places } = settled;
  return { ok: true, kind: kindOf(places), controllers: places.flatMap(({ controllers }) => controllers) };
}

function make(files: GroupFiles, settled: Settled, name: string, limits: GroupLimits): RunGroup {
  if (!settled.ok) throw unmade(settled.why, { remedy: settled.fix });
  try {
    return makeRunGroup(files, settled.places, name, limits);
  } catch (error) {
    throw unmade(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function unmade(why: string, options: { remedy?: string; cause?: unknown }): CodedError {
  return new CodedError('tier/unenforceable', `Cannot make control group: ${why}`, options);
}

function checked(limits: GroupLimits): GroupLimits {
  for (const [name, value] of Object.entries(limits)) {
    // Boundary: "NaN", "-1" and "1e21" would be read by the kernel as something else, "-1" as no limit at all.
    if (Number.isSafeInteger(value) && value > 0) continue;
    throw new TypeError(`Cannot make control group: ${name} is ${value}, expected a whole number above 0`);
  }
  return limits;
}

/** Looks at the top and in our own group of every tree: an earlier start may have had other rights. */
function list(files: GroupFiles, layout: CgroupLayout, names: GroupNames, prefix: string): FoundGroup[] {
  const found = new Map<string, Place[]>();
  for (const { hierarchy, ...tree } of treesOf(layout)) {
    const { mount } = hierarchy;
    for (const directory of new Set([mount, ownDirectory(hierarchy, prefix) ?? mount])) {
      for (const name of files.directories(directory)) {
        if (names.processOf(name) === null) continue;
        const place = { ...tree, mount, directory: join(directory, name) };
        found.set(name, [...(found.get(name) ?? []), place]);
      }
    }
  }
  return [...found].map(([name, places]) => ({
    name,
    process: names.processOf(name) ?? '',
    group: new RunGroup(files, places),
  }));
}

type Tree = Pick<Place, 'version' | 'controllers'> & { readonly hierarchy: Hierarchy };

function treesOf(layout: CgroupLayout): Tree[] {
  const trees: Tree[] = [];
  if ('controllers' in layout) {
    for (const controller of SEPARATE_CONTROLLERS) {
      const hierarchy = layout.controllers.get(controller);
      if (hierarchy !== undefined) trees.push({ version: 1, controllers: [controller], hierarchy });
    }
  }
  if ('unified' in layout) trees.push({ version: 2, controllers: ['unified'], hierarchy: layout.unified });
  return trees;
}
