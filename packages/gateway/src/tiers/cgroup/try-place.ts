import { basename, dirname, join } from 'node:path';
import type { GroupLimits } from './controllers.table.ts';
import type { Hierarchy } from './find-cgroups.ts';
import { FIXES } from './fixes.table.ts';
import { type GroupFiles, reasonOf } from './group-files.ts';
import { makePart, type Place } from './part.ts';

export type Refused = { readonly ok: false; readonly why: string; readonly fix: string };

/** What it takes to try a place. */
export type Settler = {
  readonly files: GroupFiles;
  readonly prefix: string;
  /** The name of the group that is made to see whether one can be made. */
  readonly trialName: string;
  readonly pid: number;
};

const TRIAL_LIMITS: GroupLimits = { memoryBytes: 64 * 1024 * 1024, processes: 16 };

/** The first place in which a group with limits can be made, or all reasons why there is none. */
export function tryPlaces(
  places: readonly Place[],
  settler: Settler,
  prepare: (place: Place, settler: Settler) => Refused | null,
): Place | Refused {
  const reasons = new Map<string, Refused>();
  for (const place of places) {
    if (reasons.has(place.directory)) continue;
    const refused = prepare(place, settler) ?? tryPlace(place, settler);
    if (refused === null) return place;
    reasons.set(place.directory, refused);
  }
  const all = [...reasons.values()];
  // The first place is the one that the person has most to do with.
  return { ok: false, why: all.map(({ why }) => why).join('; '), fix: all[0]?.fix ?? FIXES.unmounted };
}

function tryPlace(place: Place, { files, trialName }: Settler): Refused | null {
  try {
    const part = makePart(files, place, trialName, TRIAL_LIMITS);
    files.close(part.descriptor);
    files.removeDirectory(part.directory);
    return null;
  } catch (error) {
    return refusal(`a group in "${place.directory}" gives ${reasonOf(error)}`, reasonOf(error), place);
  }
}

/** A refusal with the fix for what the kernel said. */
export function refusal(why: string, reason: string, { version }: Place): Refused {
  const fix = version === 2 ? FIXES.delegate : FIXES.root;
  return { ok: false, why, fix: reason === 'EROFS' ? FIXES.readOnly : fix };
}

/** The leaf of our own group that we step into, so that groups beside it can have limits. */
export function leafName(prefix: string): string {
  return `${prefix}-gateway`;
}

/** Where a tree shows our own group, or the group whose leaf we stepped into; null when it is hidden. */
export function ownDirectory({ mount, own }: Hierarchy, prefix: string): string | null {
  if (own === null) return null;
  return join(mount, basename(own) === leafName(prefix) ? dirname(own) : own);
}
