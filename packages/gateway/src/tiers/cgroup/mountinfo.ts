/** One line of /proc/self/mountinfo, with its escapes undone. */
export type Mount = {
  readonly id: number;
  readonly parent: number;
  /** Which directory of the file system is mounted; it differs from "/" in a bind mount. */
  readonly root: string;
  readonly mountPoint: string;
  readonly type: string;
  readonly options: readonly string[];
  /** Options of the file system itself; for cgroup v1 they name the controllers. */
  readonly superOptions: readonly string[];
};

const LINE = /^(\d+) (\d+) \d+:\d+ (\S+) (\S+) (\S+)(?: \S+)* - (\S+) \S* (\S+)$/;

/** Reads the mount table; a line that is no mount is left out. */
export function parseMountinfo(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, id, parent, root, mountPoint, options, type, superOptions] = LINE.exec(line) ?? [];
    if (root === undefined || mountPoint === undefined || type === undefined) return [];
    return [
      {
        id: Number(id),
        parent: Number(parent),
        root: unescapePath(root),
        mountPoint: unescapePath(mountPoint),
        type,
        options: options?.split(',') ?? [],
        superOptions: superOptions?.split(',') ?? [],
      },
    ];
  });
}

/** The mounts that a path still leads to: the table goes on listing those that another mount covers. */
export function reachable(mounts: readonly Mount[], wanted: (mount: Mount) => boolean): Mount[] {
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
    if (children.get(mount.id)?.some(({ mountPoint }) => mountPoint === mount.mountPoint)) return true;
    for (let at: Mount | undefined = mount; at !== undefined && !seen.has(at.id); at = byId.get(at.parent)) {
      seen.add(at.id);
      const below = at;
      if (children.get(at.parent)?.some((other) => other.id !== below.id && covers(other, below)))
        return true;
    }
    return false;
  }
}

/** True when `other`, mounted on the same file system as `mount`, lies on the way to it. */
function covers(other: Mount, mount: Mount): boolean {
  return isBelow(mount.mountPoint, other.mountPoint) && mount.mountPoint !== other.mountPoint;
}

/** True for a path that is the directory or lies in it. */
export function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
}

function unescapePath(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8) & 0xff),
  );
}
