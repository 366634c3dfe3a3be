import { accept, type Result, reject } from '../../core/result.ts';
import { canConnect, say } from '../process/attempt.ts';
import { findLauncher } from '../process/launcher.ts';
import { findProgram, hostPaths, isBinary, ownNamespaces, publicPaths } from '../process/machine.ts';
import type { Facts, Lack, ProbeOptions } from '../process/tier.ts';
import type { JailHost } from './plan.ts';
import { ETC_BINDS, HIDDEN_FILES, SYSTEM_ROOTS } from './root.table.ts';

/** What this machine can enforce of tier C: which bubblewrap it has, and which parts of the system a jail can show. */

export type JailFindings = Pick<
  JailHost,
  'bwrap' | 'bwrapVersion' | 'bwrapOptions' | 'systemRoots' | 'etc' | 'hidden' | 'canConnect'
> & {
  readonly bwrapSha256: string;
  readonly launcher: string;
  readonly launcherSha256: string;
  /** Our own namespaces, by name: a run must not be in them. */
  readonly ownNamespaces: Facts;
};

const BWRAPS = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'];
const NO_BWRAP = {
  why: 'bubblewrap is not installed',
  fix: 'Install it: `apt-get install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`.',
};

export async function probeC(options: ProbeOptions): Promise<Result<JailFindings, Lack>> {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const bwrap = findProgram(options.bwraps ?? BWRAPS, NO_BWRAP);
  if (!bwrap.ok) return bwrap;
  const [version, help, connects] = await Promise.all([
    saidOf(bwrap.value, 'version', options),
    saidOf(bwrap.value, 'help', options),
    canConnect(launcher.value, options),
  ]);
  const bwrapVersion = parseVersion(version);
  if (bwrapVersion === null)
    return reject({ why: `"${bwrap.value.path}" does not print its version`, fix: NO_BWRAP.fix });
  return accept({
    bwrap: bwrap.value.path,
    bwrapSha256: bwrap.value.sha256,
    bwrapVersion,
    bwrapOptions: parseOptions(help),
    launcher: launcher.value.path,
    launcherSha256: launcher.value.sha256,
    systemRoots: hostPaths(SYSTEM_ROOTS.map(({ path }) => path)),
    etc: publicPaths(ETC_BINDS.map(({ path }) => path)),
    hidden: hostPaths(HIDDEN_FILES.map(({ path }) => path)),
    canConnect: connects,
    ownNamespaces: ownNamespaces(),
  });
}

/** What bubblewrap says of itself is a function of its file, so one of the same digest is not asked again. */
async function saidOf(
  { path, sha256 }: { readonly path: string; readonly sha256: string },
  word: 'version' | 'help',
  { clock, said }: ProbeOptions,
): Promise<string> {
  const key = `${sha256}-${word}`;
  const before = await said?.read(key);
  if (before != null) return before.toString();
  const text = await say(clock, path, ['bwrap', `--${word}`]);
  // Boundary: a script of that name says what another file says, which its digest does not cover.
  if (text !== '' && isBinary(path)) void said?.write(key, Buffer.from(text));
  return text;
}

/** The output of `bwrap --version` and `--help`, parsed as hostile text: distributions add options to old versions. */

export type BwrapVersion = readonly [number, number, number];

/**
 * The first version that resolves mount destinations inside the new root. In older ones a link in a writable bind can
 * make bubblewrap create a mount point on the host.
 */
export const NESTED_MOUNTS_SINCE: BwrapVersion = [0, 12, 0];

/** Every option that a jail requires. */
export const REQUIRED_OPTIONS: readonly string[] =
  `--args --seccomp --as-pid-1 --new-session --die-with-parent --cap-drop
  --unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --uid --gid --hostname --chdir
  --clearenv --setenv --ro-bind --bind-fd --remount-ro --proc --dev --tmpfs --size --perms --file --dir --symlink`.split(
    /\s+/,
  );

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

/** Whether a version is at least the given one. */
export function isAtLeast(version: BwrapVersion, least: BwrapVersion): boolean {
  const [major, minor, patch] = version;
  const [leastMajor, leastMinor, leastPatch] = least;
  if (major !== leastMajor) return major > leastMajor;
  return minor === leastMinor ? patch >= leastPatch : minor > leastMinor;
}
