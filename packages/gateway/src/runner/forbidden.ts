/*
 * The directories of this machine in which no command may work: those of the system, every home, and the state of the
 * gateway. The first half reads them, the second, which is pure,
 * judges a directory by them; nothing is written.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isWithin, locationOf, locationOfMount, type Mount, parseMounts } from '../core/paths.ts';
import { orElse } from '../core/result.ts';
import { type Place, PROJECT_MARKERS, RUNTIME_FILES, SERVICE_HOMES, SYSTEM_PLACES } from './places.table.ts';
import { resolvePath } from './resolve-path.ts';

/** Whose gateway it is. */
export type Owner = {
  readonly stateDir: string;
  /** The home directory of the gateway's user; null if there is none. */
  readonly home: string | null;
};

/** What is read of the machine. */
export type MachineFiles = { readonly passwd: () => string; readonly mounts: () => string };

const MACHINE: MachineFiles = {
  passwd: () => orElse(() => readFileSync('/etc/passwd', 'utf8'), ''),
  mounts: () => (process.platform === 'linux' ? readFileSync('/proc/self/mountinfo', 'utf8') : ''),
};

export class ForbiddenPlaces {
  readonly #places: readonly Place[];
  readonly #readMounts: () => string;
  /** Kept for as long as the mounts are the same. */
  #last: { readonly mounts: string; readonly judgement: Judgement } | null = null;

  constructor(owner: Owner, machine: MachineFiles = MACHINE) {
    this.#places = placesOf(owner, machine.passwd());
    this.#readMounts = machine.mounts;
  }

  /** Why no command may work in this directory; null where one may. */
  againstWorkspace(opened: OpenedPath): string | null {
    return this.#judge(opened, judgeWorkspace);
  }

  /** Why a path without links cannot be a root; null where it can. */
  againstRoot(path: string): string | null {
    return this.#judge({ path, mountId: null }, judgeRoot);
  }

  #judge(opened: OpenedPath, judge: typeof judgeWorkspace): string | null {
    const mounts = orElse(this.#readMounts, null);
    // Boundary: a mount that cannot be seen could be of any directory.
    if (mounts === null) return 'cannot be compared with what is mounted on this machine';
    if (mounts !== this.#last?.mounts)
      this.#last = { mounts, judgement: prepareJudgement(this.#places, parseMounts(mounts)) };
    return judge(opened, this.#last.judgement);
  }
}

/** Links of all of them are followed once, now. */
function placesOf({ stateDir, home }: Owner, passwd: string): readonly Place[] {
  const own = home === null ? [] : [settle(home)];
  const state = settle(stateDir);
  const homes = [...own, ...homesIn(passwd).map(settle)].map(
    (path, index): Place => ({
      ...{ path, reach: 'home', what: 'a home directory' },
      ...(index < own.length ? {} : { mayLieInRoot: true }),
    }),
  );
  return [
    ...SYSTEM_PLACES.flatMap((place) => settledPlace(place, own)),
    { path: state, reach: 'all', what: 'the state directory of palisade', mayLieInRoot: true },
    ...homes,
    ...homes.flatMap(({ path }) => dotLinksOf(path, [...homes, ...SYSTEM_PLACES])),
  ];
}

/** The place by its name, and by where its name leads. */
function settledPlace(place: Place, own: readonly string[]): readonly Place[] {
  const services = own.filter((home) => home !== SERVICE_HOMES && isWithin(home, SERVICE_HOMES));
  const except = [...(place.except ?? []), ...(isWithin(SERVICE_HOMES, place.path) ? services : [])];
  const named = { ...place, except };
  const led = { ...place, path: settle(place.path), except: except.map(settle) };
  return led.path === named.path ? [named] : [named, led];
}

/** The home directories of the accounts in a passwd text. */
export function homesIn(passwd: string): readonly string[] {
  const homes = passwd.split('\n').map((line) => line.split(':')[5] ?? '');
  return [...new Set(homes.filter((home) => home.startsWith('/')))];
}

/** Where dot-directories of a home lead that are links: what is there is as private as if it lay in the home. */
function dotLinksOf(home: string, known: readonly Place[]): readonly Place[] {
  const entries = orElse(() => readdirSync(home, { withFileTypes: true }), []);
  const links = entries.filter((entry) => entry.name.startsWith('.') && entry.isSymbolicLink());
  return links.flatMap(({ name }): readonly Place[] => {
    const path = settle(join(home, name));
    // A link to a home, to a directory of the system or to one around them says nothing new of what lies below.
    if (known.some((place) => isWithin(place.path, path)) || !isDirectory(path)) return [];
    return [{ path, reach: 'all', what: `what "${join(home, name)}" leads to`, mayLieInRoot: true }];
  });
}

function isDirectory(path: string): boolean {
  return orElse(() => statSync(path).isDirectory(), false);
}

/** Boundary: links in what the operator or the system named are followed once; later changes by a run have no effect. */
export function settle(path: string): string {
  return resolvePath(path, '/').path;
}

/** The marker that makes a directory part of a project: its own, or that of a directory above that could be a root. */
export function findMarker(directory: string, forbidden: ForbiddenPlaces): string | null {
  // Boundary: a marker in a home, in / or in /tmp makes no project of what lies below.
  if (forbidden.againstRoot(directory) !== null) return null;
  const marker = PROJECT_MARKERS.map((name) => join(directory, name)).find(
    (path) => orElse(() => lstatSync(path, { throwIfNoEntry: false }), undefined) !== undefined,
  );
  return marker ?? findMarker(dirname(directory), forbidden);
}

/** A directory that is held open, as the kernel names it now. */
export function openedPath(fd: number, path: string): OpenedPath {
  if (process.platform !== 'linux') return { path, mountId: null };
  const about = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
  const id = /^mnt_id:\s*([0-9]+)$/m.exec(about)?.[1];
  return { path: readlinkSync(`/proc/self/fd/${fd}`), mountId: id === undefined ? null : Number(id) };
}

/*
 * Whether commands may work in a directory. Pure: it takes the directory as it was opened, the forbidden places and the
 * table of mounts, all without links, and returns why not. A directory is compared twice: by its path, and by its
 * location on its device, which bind mounts do not change. Every root and every workspace is judged here.
 */

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
