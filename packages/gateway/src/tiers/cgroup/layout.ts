import { isWithin, type Mount, parseMounts } from '../../core/paths.ts';

/** One tree of groups: where it is mounted, and our own group in it. */
export type Hierarchy = {
  readonly mount: string;
  /** Below the mount, "/" for the mount itself; null when our group cannot be seen through this mount. */
  readonly own: string | null;
};

/** Which trees of groups this machine shows. In `hybrid` the unified tree has no limits, but counts and kills. */
export type CgroupLayout =
  | { readonly kind: 'v2'; readonly unified: Hierarchy }
  | { readonly kind: 'v1'; readonly controllers: ReadonlyMap<string, Hierarchy> }
  | {
      readonly kind: 'hybrid';
      readonly controllers: ReadonlyMap<string, Hierarchy>;
      readonly unified: Hierarchy;
    }
  | { readonly kind: 'none'; readonly why: string };

/** The limits that a run needs; without both no group is made. */
export const NEEDED_CONTROLLERS = ['memory', 'pids'] as const;

/** Our group in each tree, as /proc/self/cgroup lists them; the unified tree has the empty name. */
type OwnGroups = ReadonlyMap<string, string>;

/** Finds the trees of groups. It only reads text and never throws; what it cannot parse counts as absent. */
export function findCgroups(read: (path: string) => string | null): CgroupLayout {
  const mounts = reachable(parseMounts(read('/proc/self/mountinfo') ?? ''), ({ type }) =>
    /^cgroup2?$/.test(type),
  );
  const own = parseOwnGroups(read('/proc/self/cgroup') ?? '');
  if (own.size === 0) return { kind: 'none', why: 'the kernel lists no control group of this process' };
  const unified = unifiedOf(mounts, own);
  if (unified !== null && hasNeeded(read(`${unified.mount}/cgroup.controllers`))) {
    return { kind: 'v2', unified };
  }
  const controllers = controllersOf(mounts, own);
  if (controllers.size > 0) {
    return unified === null ? { kind: 'v1', controllers } : { kind: 'hybrid', controllers, unified };
  }
  if (unified !== null) return { kind: 'v2', unified };
  return { kind: 'none', why: 'no cgroup file system is mounted' };
}

/** The words of a file such as cgroup.controllers. */
export function wordsOf(text: string | null): string[] {
  return (text ?? '').split(/\s+/).filter((word) => word !== '');
}

function hasNeeded(text: string | null): boolean {
  const words = wordsOf(text);
  return NEEDED_CONTROLLERS.every((name) => words.includes(name));
}

function parseOwnGroups(text: string): OwnGroups {
  const groups = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, names, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (names === undefined || path === undefined) continue;
    for (const name of names.split(',')) groups.set(name, path);
  }
  return groups;
}

function unifiedOf(mounts: readonly Mount[], own: OwnGroups): Hierarchy | null {
  const path = own.get('');
  if (path === undefined) return null;
  return bestOf(
    mounts.filter(({ type }) => type === 'cgroup2'),
    path,
  );
}

function controllersOf(mounts: readonly Mount[], own: OwnGroups): Map<string, Hierarchy> {
  const found = new Map<string, Hierarchy>();
  for (const [name, path] of own) {
    if (name === '') continue;
    const holding = mounts.filter(
      ({ type, superOptions }) => type === 'cgroup' && superOptions.includes(name),
    );
    const hierarchy = bestOf(holding, path);
    if (hierarchy !== null) found.set(name, hierarchy);
  }
  return found;
}

/** Of several mounts of one tree, prefers a writable one, then one that shows our own group. */
function bestOf(mounts: readonly Mount[], ownPath: string): Hierarchy | null {
  const rated = mounts.map((mount) => {
    const own = ownBelow(mount.root, ownPath);
    const writable = !mount.options.includes('ro') && !mount.superOptions.includes('ro');
    return { mount: mount.point, own, rank: (writable ? 2 : 0) + (own === null ? 0 : 1) };
  });
  const [best] = rated.sort((a, b) => b.rank - a.rank);
  return best === undefined ? null : { mount: best.mount, own: best.own };
}

/** Our group as a path below the mount; null when it lies outside, above a namespace, or is gone. */
function ownBelow(root: string, path: string): string | null {
  // Boundary: ".." means the groups above a cgroup namespace, whose names are hidden; joined, it would leave the mount.
  if (`${root}/${path}`.split('/').includes('..')) return null;
  if (path.endsWith(' (deleted)') || !isWithin(path, root)) return null;
  const below = root === '/' ? path : path.slice(root.length);
  return below === '' ? '/' : below;
}

/** The mounts that are still reachable by path: the table also lists those that another mount covers. */
function reachable(mounts: readonly Mount[], wanted: (mount: Mount) => boolean): Mount[] {
  const byId = new Map(mounts.map((mount) => [mount.id, mount]));
  const children = new Map<number, Mount[]>();
  for (const mount of mounts) {
    const siblings = children.get(mount.parent);
    if (siblings === undefined) children.set(mount.parent, [mount]);
    else siblings.push(mount);
  }
  return mounts.filter((mount) => wanted(mount) && !isCovered(mount));

  function isCovered(mount: Mount): boolean {
    const seen = new Set<number>();
    if (children.get(mount.id)?.some(({ point }) => point === mount.point)) return true;
    for (let at: Mount | undefined = mount; at !== undefined && !seen.has(at.id); at = byId.get(at.parent)) {
      seen.add(at.id);
      const below = at;
      if (children.get(at.parent)?.some((other) => other.id !== below.id && covers(other, below)))
        return true;
    }
    return false;
  }
}

/** True when `other`, mounted on the same file system as `mount`, is an ancestor of it. */
function covers(other: Mount, mount: Mount): boolean {
  return isWithin(mount.point, other.point) && mount.point !== other.point;
}
