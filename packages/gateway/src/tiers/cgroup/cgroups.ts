/*
 * Control groups for runs of native commands: the only limits that count a whole tree of processes, and a kill that no
 * daemon escapes. Its inputs are the kernel's own tables and our own ids; the processes in a group are hostile. This
 * folder starts nothing: a launcher joins through the descriptors before it starts the command.
 *
 * What can go wrong: the machine permits no group (the probe reports it, with a fix), a limit is rejected (no group is
 * made), a process cannot be killed (the group stays and the next start tries again). It never touches a process or a
 * group that is not its own. A command that runs with the gateway's own user and sees the cgroup file system could
 * leave its group: a jail does not have that file system, and in tier B it is read-only.
 */
import { join } from 'node:path';
import { CodedError } from '../../core/coded-error.ts';
import { digestBytes } from '../../core/digest.ts';
import { accept, type Result } from '../../core/result.ts';
import type { Lack } from '../process/tier.ts';
import { type GroupFiles, type GroupLimits, machineFiles, SEPARATE_CONTROLLERS } from './group-files.ts';
import { type CgroupLayout, findCgroups, type Hierarchy } from './layout.ts';
import { ownDirectory, type Settled, settle } from './place.ts';
import { kindOf, makeRunGroup, type Place, RunGroup } from './run-group.ts';

export type Probe = Result<
  { readonly kind: 'v1' | 'v2' | 'hybrid'; readonly controllers: readonly string[] },
  Lack
>;

/** A group that an ended process may have left behind: its name, its maker, and a way to end it. */
type FoundGroup = { readonly name: string; readonly process: string; readonly group: RunGroup };

export type Cgroups = {
  /** Makes a group with limits and removes it again; reports what it achieved, or why it failed and the fix. */
  readonly probe: () => Probe;
  /** A group with limits that the kernel has confirmed, or a refusal. */
  readonly make: (id: string, limits: GroupLimits) => RunGroup;
  /** Every group that a process of our state directory has made, including our own. */
  readonly list: () => FoundGroup[];
};

type CgroupOptions = {
  /** The text of /proc/self/mountinfo; null where it does not exist. */
  readonly mountinfo: string | null;
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
      // A refusal is not cached: a fix takes effect without a restart.
      if (settled?.ok !== true) settled = look();
      return make(files, settled, names.nameOf(id), checked(limits));
    },
    list: () => list(files, layout, names, prefix),
  };
}

function probeOf(settled: Settled): Probe {
  if (!settled.ok) return settled;
  const places = settled.value;
  return accept({ kind: kindOf(places), controllers: places.flatMap(({ controllers }) => controllers) });
}

function make(files: GroupFiles, settled: Settled, name: string, limits: GroupLimits): RunGroup {
  if (!settled.ok) throw unmade(settled.problem.why, { remedy: settled.problem.fix });
  try {
    return makeRunGroup(files, settled.value, name, limits);
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

/** Searches the top and our own group of every tree: an earlier start may have had other permissions. */
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

export type Swept = {
  readonly removed: readonly string[];
  /** Groups that the kernel still holds, each with the reason; the next start tries again. */
  readonly left: readonly string[];
};

/**
 * Kills and removes the groups that ended processes of our state directory left behind. `isGone` receives the owning
 * process, as it was passed to `openCgroups`; in doubt it must answer that the process is alive.
 */
export async function sweepCgroups(cgroups: Cgroups, isGone: (owner: string) => boolean): Promise<Swept> {
  const removed: string[] = [];
  const left: string[] = [];
  const found = cgroups.list();
  const owners = new Set(found.map(({ process }) => process));
  const gone = [...owners].filter(isGone);
  const orphans = found.filter(({ process }) => gone.includes(process));
  await Promise.all(
    orphans.map(async ({ name, group }) => {
      try {
        await group.remove();
        removed.push(name);
      } catch (error) {
        left.push(error instanceof Error ? error.message : String(error));
      }
    }),
  );
  return { removed: removed.sort(), left };
}

/**
 * The maker of groups, which are named PREFIX-OWNER-ID. Gateways with different state directories do not know of each
 * other, so each recognises only the groups of its own state directory.
 */
export type Owner = {
  /** Distinguishes this state directory from all others on the machine; only its digest is in the names. */
  readonly realStateDir: string;
  /** The process, as the presence of the store names it. */
  readonly process: string;
};

const STATE_DIR_CHARS = 12;
const PREFIX = /^[a-z]{1,32}$/;
const PROCESS = /^[a-zA-Z0-9_]{1,64}$/;
const ID = /^[a-zA-Z0-9_-]{1,64}$/;

/** Makes and recognises the names of one owner's state directory. */
export type GroupNames = {
  readonly nameOf: (id: string) => string;
  /** The process that made a group of this state directory; null for every other name. */
  readonly processOf: (name: string) => string | null;
};

/** Checks the parts that all names share. */
export function groupNames(prefix: string, owner: Owner): GroupNames {
  check('prefix', prefix, PREFIX);
  check('owner', owner.process, PROCESS);
  const realStateDir = digestBytes(owner.realStateDir).slice(0, STATE_DIR_CHARS);
  const start = `${prefix}-${realStateDir}_`;
  return {
    nameOf: (id) => {
      // Boundary: a name is a part of a path; a slash or a dot in it would lead out of the tree.
      check('id', id, ID);
      return `${start}${owner.process}-${id}`;
    },
    processOf: (name) => {
      // Boundary: only what this state directory's processes can have made is ever killed or removed.
      if (!name.startsWith(start)) return null;
      const rest = name.slice(start.length);
      const dash = rest.indexOf('-');
      const process = rest.slice(0, Math.max(dash, 0));
      return PROCESS.test(process) && ID.test(rest.slice(dash + 1)) ? process : null;
    },
  };
}

function check(what: string, text: string, pattern: RegExp): void {
  if (pattern.test(text)) return;
  throw new TypeError(
    `Cannot name a control group: its ${what} is ${JSON.stringify(text)}, expected ${pattern.source}`,
  );
}
