/*
 * Decides where groups of runs are made, by making one. Version 1: at the top of each tree if permitted, so that the
 * next start finds what a killed one left, in any session; our own group belongs to its maker, who could not remove it
 * with our groups inside. Version 2: in our own group when it is delegated to us, so that the limits of the service
 * apply to its runs; else at the top, which takes root.
 */
import { basename, dirname, join } from 'node:path';
import { accept, type Result, reject } from '../../core/result.ts';
import type { Lack } from '../process/tier.ts';
import { type Controller, type GroupFiles, type GroupLimits, reasonOf, tryRemove } from './group-files.ts';
import { type CgroupLayout, type Hierarchy, NEEDED_CONTROLLERS, wordsOf } from './layout.ts';
import { makePart, type Place } from './run-group.ts';

export type Settled = Result<readonly Place[], Lack>;

type Separate = CgroupLayout & { readonly kind: 'v1' | 'hybrid' };

/** Finds a place in every tree that is needed, or reports why there is none and how to get one. */
export function settle(layout: CgroupLayout, settler: Settler): Settled {
  if (layout.kind === 'none') return reject({ why: layout.why, fix: FIXES.unmounted });
  if (layout.kind === 'v2') return settleUnified(layout.unified, settler);
  const missing = NEEDED_CONTROLLERS.filter((name) => !layout.controllers.has(name));
  if (missing.length === 0) return settleSeparate(layout, settler);
  return reject({ why: `no tree has the controller ${missing.join(' and ')}`, fix: FIXES.controller });
}

function settleUnified(hierarchy: Hierarchy, settler: Settler): Settled {
  const { mount } = hierarchy;
  const controllers: Controller[] = [...NEEDED_CONTROLLERS, 'unified'];
  const directories = [ownDirectory(hierarchy, settler.prefix) ?? mount, mount];
  const places = directories.map((directory): Place => ({ version: 2, mount, directory, controllers }));
  const place = tryPlaces(places, settler, enableLimits);
  return place.ok ? accept([place.value]) : place;
}

function settleSeparate(layout: Separate, settler: Settler): Settled {
  const places: Place[] = [];
  if (layout.kind === 'hybrid') {
    const place = fromTheTop({ version: 2, controllers: ['unified'] }, layout.unified, settler);
    // Without it the run is still limited; its processes are only killed one by one.
    if (place.ok) places.push(place.value);
  }
  // The unified tree counts CPU time as well; joining one tree less is faster.
  const wanted: Controller[] =
    places.length > 0 ? [...NEEDED_CONTROLLERS] : [...NEEDED_CONTROLLERS, 'cpuacct'];
  for (const [hierarchy, controllers] of treesFor(wanted, layout)) {
    const place = fromTheTop({ version: 1, controllers }, hierarchy, settler);
    if (place.ok) places.push(place.value);
    else if (controllers.some((name) => name !== 'cpuacct')) return place;
  }
  return accept(places);
}

/** Each tree once, with the controllers that are wanted of it: several can be mounted together. */
function treesFor(wanted: readonly Controller[], { controllers }: Separate): [Hierarchy, Controller[]][] {
  const trees = new Map<string, [Hierarchy, Controller[]]>();
  for (const name of wanted) {
    const hierarchy = controllers.get(name);
    if (hierarchy === undefined) continue;
    const tree = trees.get(hierarchy.mount);
    if (tree === undefined) trees.set(hierarchy.mount, [hierarchy, [name]]);
    else tree[1].push(name);
  }
  return [...trees.values()];
}

function fromTheTop(
  tree: Pick<Place, 'version' | 'controllers'>,
  hierarchy: Hierarchy,
  settler: Settler,
): Result<Place, Lack> {
  const { mount } = hierarchy;
  const directories = [mount, ownDirectory(hierarchy, settler.prefix) ?? mount];
  return tryPlaces(
    directories.map((directory) => ({ ...tree, mount, directory })),
    settler,
    () => null,
  );
}

/** What is needed to try a place. */
type Settler = {
  readonly files: GroupFiles;
  readonly prefix: string;
  readonly trialName: string;
  readonly pid: number;
};

const TRIAL_LIMITS: GroupLimits = { memoryBytes: 64 * 1024 * 1024, processes: 16 };

/** The first place in which a group with limits can be made, or all reasons why there is none. */
function tryPlaces(
  places: readonly Place[],
  settler: Settler,
  prepare: (place: Place, settler: Settler) => Lack | null,
): Result<Place, Lack> {
  const reasons = new Map<string, Lack>();
  for (const place of places) {
    if (reasons.has(place.directory)) continue;
    const refused = prepare(place, settler) ?? tryPlace(place, settler);
    if (refused === null) return accept(place);
    reasons.set(place.directory, refused);
  }
  const all = [...reasons.values()];
  // The first place is the one that concerns the operator most.
  return reject({ why: all.map(({ why }) => why).join('; '), fix: all[0]?.fix ?? FIXES.unmounted });
}

function tryPlace(place: Place, { files, trialName }: Settler): Lack | null {
  try {
    const part = makePart(files, place, trialName, TRIAL_LIMITS);
    files.close(part.descriptor);
    files.removeDirectory(part.directory);
    return null;
  } catch (error) {
    return refusal(`a group in "${place.directory}" gives ${reasonOf(error)}`, reasonOf(error), place);
  }
}

/** A refusal with the fix for the kernel's error. */
function refusal(why: string, reason: string, { version }: Place): Lack {
  const fix = version === 2 ? FIXES.delegate : FIXES.root;
  return { why, fix: reason === 'EROFS' ? FIXES.readOnly : fix };
}

/** The leaf of our own group that we move into, so that groups beside it can have limits. */
function leafName(prefix: string): string {
  return `${prefix}-gateway`;
}

/** Where a tree shows our own group, or the group whose leaf we moved into; null when it is hidden. */
export function ownDirectory({ mount, own }: Hierarchy, prefix: string): string | null {
  if (own === null) return null;
  return join(mount, basename(own) === leafName(prefix) ? dirname(own) : own);
}

/**
 * Enables limits for groups in a place of version 2; null on success.
 *
 * Version 2 lets a group have either processes or groups with limits. Where we are alone in our own group, we move into
 * a leaf of it; other processes are never moved.
 */
function enableLimits(place: Place, settler: Settler): Lack | null {
  const { files } = settler;
  const { directory } = place;
  const available = wordsOf(files.read(join(directory, 'cgroup.controllers')));
  const missing = NEEDED_CONTROLLERS.filter((name) => !available.includes(name));
  if (missing.length > 0) {
    return { why: `"${directory}" lacks ${missing.join(' and ')}`, fix: FIXES.controller };
  }
  try {
    // Joining a group also requires write access to the common ancestor of both groups.
    files.close(files.open(join(directory, 'cgroup.procs')));
  } catch (error) {
    return refusal(`"${directory}" is not ours (${reasonOf(error)})`, reasonOf(error), place);
  }
  const reason = enable(files, directory);
  if (reason === null) return null;
  if (reason === 'EBUSY') return stepAside(place, settler);
  return refusal(`limits for groups in "${directory}" give ${reason}`, reason, place);
}

/** Null when limits are enabled, else the kernel's error. */
function enable(files: GroupFiles, directory: string): string | null {
  const path = join(directory, 'cgroup.subtree_control');
  const enabled = wordsOf(files.read(path));
  if (NEEDED_CONTROLLERS.every((name) => enabled.includes(name))) return null;
  try {
    files.write(path, NEEDED_CONTROLLERS.map((name) => `+${name}`).join(' '));
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Moves this process alone into a leaf of its own group, and back when that did not help. */
function stepAside(place: Place, { files, prefix, pid }: Settler): Lack | null {
  const { directory } = place;
  const procs = join(directory, 'cgroup.procs');
  // Boundary: other processes in the group are not ours to move; that would remove them from their limits.
  if (wordsOf(files.read(procs)).join() !== String(pid)) {
    return refusal(`"${directory}" has processes of others in it`, 'EBUSY', place);
  }
  const leaf = join(directory, leafName(prefix));
  try {
    makeLeaf(files, leaf);
    files.write(join(leaf, 'cgroup.procs'), String(pid));
    const reason = enable(files, directory);
    if (reason === null) return null;
    files.write(procs, String(pid));
    tryRemove(files, leaf);
    return refusal(`limits for groups in "${directory}" give ${reason}`, reason, place);
  } catch (error) {
    return refusal(`the leaf "${leaf}" gives ${reasonOf(error)}`, reasonOf(error), place);
  }
}

function makeLeaf(files: GroupFiles, leaf: string): void {
  try {
    files.makeDirectory(leaf);
  } catch (error) {
    if (reasonOf(error) !== 'EEXIST') throw error;
  }
}

/** What the operator can do where no group can be made, one sentence each. */
const FIXES = {
  unmounted:
    'Mount the cgroup file system, for example with `mount -t cgroup2 none /sys/fs/cgroup`, and start palisade again.',
  controller:
    'Start palisade with `systemd-run --user --scope -p Delegate=yes palisade …`; where the kernel itself lacks the controller, boot it with `cgroup_enable=memory`.',
  readOnly: 'Start the container so that /sys/fs/cgroup can be written in it, and start palisade again.',
  delegate:
    'Start palisade with `systemd-run --user --scope -p Delegate=yes palisade …`, or in a container as its only process.',
  root: 'Start palisade as root, or have root give its user a group of its own in the trees "memory" and "pids".',
} as const;
