/** What `bwrap --version` and `bwrap --help` say, read as hostile text: distributions add options to old versions. */

export type BwrapVersion = readonly [number, number, number];

/**
 * The first version that resolves mount destinations inside the new root. Before it a link in a writable bind leads
 * the creation of a mount point out to the host.
 */
export const NESTED_MOUNTS_SINCE: BwrapVersion = [0, 12, 0];

/** Every option that a jail cannot do without. */
export const REQUIRED_OPTIONS = [
  ...['--args', '--seccomp', '--as-pid-1', '--new-session', '--die-with-parent', '--cap-drop'],
  ...[
    '--unshare-user',
    '--unshare-ipc',
    '--unshare-pid',
    '--unshare-net',
    '--unshare-uts',
    '--unshare-cgroup',
  ],
  ...['--uid', '--gid', '--hostname', '--chdir', '--clearenv', '--setenv'],
  ...['--ro-bind', '--bind-fd', '--remount-ro', '--proc', '--dev', '--tmpfs', '--size', '--perms', '--file'],
  ...['--dir', '--symlink'],
] as const;

/** Reads "bubblewrap 0.8.0"; anything else is null. */
export function parseVersion(text: string): BwrapVersion | null {
  const [, major, minor, patch = '0'] =
    /^bubblewrap ([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?\s*$/.exec(text) ?? [];
  if (major === undefined || minor === undefined) return null;
  return [Number(major), Number(minor), Number(patch)];
}

/** The names of the options that a help text lists, each once. */
export function parseOptions(help: string): readonly string[] {
  const names = Array.from(help.matchAll(/^ {1,8}(--[a-z0-9-]{1,40})(?= |$)/gm), ([, name]) => name ?? '');
  return [...new Set(names)];
}

/** Tells whether a version is the given one or a later one. */
export function isAtLeast(version: BwrapVersion, least: BwrapVersion): boolean {
  const [major, minor, patch] = version;
  const [leastMajor, leastMinor, leastPatch] = least;
  if (major !== leastMajor) return major > leastMajor;
  return minor === leastMinor ? patch >= leastPatch : minor > leastMinor;
}
