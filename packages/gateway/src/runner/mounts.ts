/*
 * Where a directory really lies. A bind mount gives a directory a second path; its device and its path on that device
 * stay the same. The kernel lists both for every mount in /proc/self/mountinfo.
 */
import { isWithin } from '../core/paths.ts';

export type Mount = {
  readonly id: number;
  readonly device: string;
  /** The directory of the device that is mounted. */
  readonly root: string;
  /** Where it is mounted. */
  readonly point: string;
};

/** The mounts of a mountinfo text, in its order; a line that is not one of a mount is left out. */
export function parseMounts(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [id = '', , device, root, point] = line.split(' ');
    if (device === undefined || root === undefined || point === undefined) return [];
    return [{ id: Number(id), device, root: unescaped(root), point: unescaped(point) }];
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
