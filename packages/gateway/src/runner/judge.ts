/*
 * Whether commands may work in a directory. Pure: it takes the directory as it was opened, the forbidden places and the
 * table of mounts, all without links, and returns why not. A directory is compared twice: by its path, and by its
 * location on its device, which bind mounts do not change. Every root and every workspace is judged here.
 */
import { dirname } from 'node:path';
import { isWithin } from '../core/paths.ts';
import { locationOf, locationOfMount, type Mount } from './mounts.ts';
import { type Place, RUNTIME_FILES } from './places.table.ts';

/** A directory by the path that the kernel gives its descriptor, and the mount that it was opened on, if known. */
export type OpenedPath = { readonly path: string; readonly mountId: number | null };

/** What a directory is compared with: the places as paths, and the same as locations. */
export type Judgement = {
  readonly byPath: readonly SpelledPlace[];
  readonly byLocation: readonly SpelledPlace[];
  readonly mounts: readonly Mount[];
};

/** A place with where it and its exceptions are, as a path or as a location. */
type SpelledPlace = { readonly place: Place; readonly at: string; readonly open: readonly string[] };

/** The places as they are compared while these are the mounts. */
export function prepareJudgement(places: readonly Place[], mounts: readonly Mount[]): Judgement {
  const spell = (all: readonly Place[], spelled: (path: string) => string): readonly SpelledPlace[] =>
    all.map((place) => ({ place, at: spelled(place.path), open: (place.except ?? []).map(spelled) }));
  const byPath = spell(places, (path) => path);
  const inside = mounts.flatMap((mount) => placeMountedIn(mount, byPath));
  return { byPath, byLocation: spell([...places, ...inside], (path) => locationOf(path, mounts)), mounts };
}

/** What is mounted in a forbidden place has a location of its own, which is as forbidden. */
function placeMountedIn({ point }: Mount, byPath: readonly SpelledPlace[]): readonly Place[] {
  if (RUNTIME_FILES.includes(point)) return [];
  const around = byPath.find(
    (each) => point !== each.at && isWithin(point, each.at) && reaches(each, point),
  )?.place;
  if (around === undefined) return [];
  const isHome = around.reach === 'homes' && dirname(point) === around.path;
  return [{ ...around, path: point, reach: isHome ? 'home' : 'all' }];
}

/** Why no command may work in this directory, as the end of a sentence about it; null where one may. */
export function judgeWorkspace(opened: OpenedPath, judgement: Judgement): string | null {
  return judgeTwice(opened, judgement, 'workspace') ?? judgeMountsBelow(opened.path, judgement);
}

/** Why a directory cannot be a root; null where it can. What lies in a root is judged when a call names it. */
export function judgeRoot(opened: OpenedPath, judgement: Judgement): string | null {
  return judgeTwice(opened, judgement, 'root');
}

type As = 'root' | 'workspace';

function judgeTwice({ path, mountId }: OpenedPath, judgement: Judgement, as: As): string | null {
  const { byPath, byLocation, mounts } = judgement;
  const named = reasonAgainst(path, byPath, as);
  if (named !== null) return named;
  // Boundary: a bind mount is another path to the same directory.
  const reason = reasonAgainst(locationOf(path, mounts, mountId), byLocation, as);
  return reason === null ? null : `${reason}, by a mount`;
}

/** Boundary: what is mounted below a workspace is part of it, wherever it comes from. */
function judgeMountsBelow(path: string, { byLocation, mounts }: Judgement): string | null {
  for (const mount of mounts) {
    if (mount.point === path || !isWithin(mount.point, path)) continue;
    const reason = reasonAgainst(locationOfMount(mount), byLocation, 'workspace');
    if (reason !== null) return `contains the mount "${mount.point}", which ${reason}`;
  }
  return null;
}

function reasonAgainst(directory: string, places: readonly SpelledPlace[], as: As): string | null {
  for (const spelled of places) {
    const { at, place } = spelled;
    const { path, what, mayLieInRoot = false } = place;
    if (directory === at) return `is ${what}`;
    if (isWithin(at, directory)) {
      if (as === 'workspace' || !mayLieInRoot) return `contains "${path}", ${what}`;
    } else if (isWithin(directory, at) && reaches(spelled, directory)) return `is in "${path}", ${what}`;
  }
  return null;
}

/** Whether a place forbids this directory below it. */
function reaches({ place, at, open }: SpelledPlace, directory: string): boolean {
  const [first, second] = directory
    .slice(at.length)
    .split('/')
    .filter((part) => part !== '');
  switch (place.reach) {
    case 'itself':
      return false;
    case 'all':
      return !open.some((above) => directory !== above && isWithin(directory, above));
    case 'home':
      return first?.startsWith('.') === true;
    case 'homes':
      return second === undefined || second.startsWith('.');
  }
}
