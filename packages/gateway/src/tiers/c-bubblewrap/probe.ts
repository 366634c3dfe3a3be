/** What this machine can enforce of tier C: which bubblewrap it has, and which parts of the system a jail can show. */
import { say } from '../process/attempt.ts';
import { findLauncher, findProgram, hostPaths, ownNamespaces } from '../process/machine.ts';
import type { Lack, ProbeOptions } from '../process/tier.ts';
import type { JailHost } from './plan.ts';
import { ETC_BINDS, SYSTEM_ROOTS } from './root.table.ts';
import { parseOptions, parseVersion } from './version.ts';

export type JailFindings = Pick<
  JailHost,
  'bwrap' | 'bwrapVersion' | 'bwrapOptions' | 'systemRoots' | 'etc'
> & {
  readonly ok: true;
  readonly bwrapSha256: string;
  readonly launcher: string;
  readonly launcherSha256: string;
  /** Our own namespaces, by name: a run must not be in them. */
  readonly ownNamespaces: Readonly<Record<string, string>>;
};

const BWRAPS = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'];
const NO_BWRAP = {
  why: 'bubblewrap is not installed',
  fix: 'Install it: `apt-get install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`.',
};

export async function probeC(options: ProbeOptions): Promise<JailFindings | Lack> {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const bwrap = findProgram(options.bwraps ?? BWRAPS, NO_BWRAP);
  if (!bwrap.ok) return bwrap;
  const [version = '', help = ''] = await Promise.all(
    ['--version', '--help'].map((option) => say(options.clock, bwrap.path, ['bwrap', option])),
  );
  const bwrapVersion = parseVersion(version);
  if (bwrapVersion === null)
    return { ok: false, why: `"${bwrap.path}" does not print its version`, fix: NO_BWRAP.fix };
  return {
    ok: true,
    bwrap: bwrap.path,
    bwrapSha256: bwrap.sha256,
    bwrapVersion,
    bwrapOptions: parseOptions(help),
    launcher: launcher.path,
    launcherSha256: launcher.sha256,
    systemRoots: hostPaths(SYSTEM_ROOTS.map(({ path }) => path)),
    etc: hostPaths(ETC_BINDS.map(({ path }) => path)),
    ownNamespaces: ownNamespaces(),
  };
}
