import { join } from 'node:path';
import { NEEDED_CONTROLLERS, wordsOf } from './find-cgroups.ts';
import { FIXES } from './fixes.table.ts';
import { type GroupFiles, reasonOf, tryRemove } from './group-files.ts';
import type { Place } from './part.ts';
import { leafName, type Refused, refusal, type Settler } from './try-place.ts';

/*
 * Version 2 lets a group have either processes or groups with limits. Where we are alone in our own group, we step aside
 * into a leaf of it; processes of others are never moved.
 */

/** Lets groups in a place of version 2 have limits; null when they can. */
export function enableLimits(place: Place, settler: Settler): Refused | null {
  const { files } = settler;
  const { directory } = place;
  const available = wordsOf(files.read(join(directory, 'cgroup.controllers')));
  const missing = NEEDED_CONTROLLERS.filter((name) => !available.includes(name));
  if (missing.length > 0) {
    return { ok: false, why: `"${directory}" lacks ${missing.join(' and ')}`, fix: FIXES.controller };
  }
  try {
    // To join a group, one must also be able to write to the group that both places have in common.
    files.close(files.open(join(directory, 'cgroup.procs')));
  } catch (error) {
    return refusal(`"${directory}" is not ours (${reasonOf(error)})`, reasonOf(error), place);
  }
  const reason = enable(files, directory);
  if (reason === null) return null;
  if (reason === 'EBUSY') return stepAside(place, settler);
  return refusal(`limits for groups in "${directory}" give ${reason}`, reason, place);
}

/** Null when limits are enabled, else what the kernel said. */
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

/** Moves this process, and it alone, into a leaf of its own group; moves it back when that was of no use. */
function stepAside(place: Place, { files, prefix, pid }: Settler): Refused | null {
  const { directory } = place;
  const procs = join(directory, 'cgroup.procs');
  // Boundary: others in the group were not put there for us; moving them would take them out of what limits them.
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
