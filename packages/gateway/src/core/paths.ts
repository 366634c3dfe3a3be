/** Whether a normal absolute path is the given directory or lies below it. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** The directories above a normal path, outermost first, without the root: "/a/b/c" has "/a" and "/a/b". */
export function ancestorsOf(path: string): readonly string[] {
  const parts = path.split('/');
  const start = path.startsWith('/') ? 2 : 1;
  return parts.slice(start).map((_, index) => parts.slice(0, start + index).join('/'));
}

/*
 * Where a directory really lies. A bind mount gives a directory a second path; its device and its path on that device
 * stay the same. The kernel lists both for every mount in /proc/self/mountinfo.
 */

export type Mount = {
  readonly id: number;
  readonly parent: number;
  readonly device: string;
  /** The directory of the device that is mounted; it differs from "/" in a bind mount. */
  readonly root: string;
  /** Where it is mounted. */
  readonly point: string;
  readonly options: readonly string[];
  readonly type: string;
  /** Options of the file system itself; for cgroup v1 they name the controllers. */
  readonly superOptions: readonly string[];
};

/** The mounts of a mountinfo text, in its order; a line that is not one of a mount is left out. */
export function parseMounts(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [fields = '', source = ''] = line.split(' - ', 2);
    const [id, parent, device, root, point, options = ''] = fields.split(' ');
    if (device === undefined || root === undefined || point === undefined) return [];
    const [type = '', , superOptions = ''] = source.split(' ');
    return [
      {
        id: Number(id),
        parent: Number(parent),
        device,
        root: unescaped(root),
        point: unescaped(point),
        options: options.split(','),
        type,
        superOptions: superOptions.split(','),
      },
    ];
  });
}

/** The kernel writes spaces, tabs, line feeds and backslashes as three octal digits. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** A directory by its device and its path there, in the form of a path, so that locations compare like paths. */
export type MountLocation = string;

/** The location of a path without links; on a system without a table of mounts, the path itself. */
export function locationOf(path: string, mounts: readonly Mount[], mountId?: number | null): MountLocation {
  const opened = mounts.find(({ id, point }) => id === mountId && isWithin(path, point));
  const mount = opened ?? mountOf(path, mounts);
  if (mount === undefined) return path;
  const below = mount.point === '/' ? path : path.slice(mount.point.length);
  return joined(mount, below === '/' ? '' : below);
}

export function locationOfMount(mount: Mount): MountLocation {
  return joined(mount, '');
}

function joined({ device, root }: Mount, below: string): MountLocation {
  return `/${device}${root === '/' ? '' : root}${below}`;
}

/** The mount that a path is on: the deepest, and of several at one point the last, which hides the others. */
function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  let found: Mount | undefined;
  for (const mount of mounts) {
    if (isWithin(path, mount.point) && mount.point.length >= (found?.point.length ?? 0)) found = mount;
  }
  return found;
}
