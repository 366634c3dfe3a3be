/** What this machine can enforce of tier B, measured by starting something harmless. */
import { type Attempt, tryLandlock, tryNamespaces } from '../process/attempt.ts';
import { findLauncher, isInReachOfAll, ownNamespaces, threadsOf } from '../process/machine.ts';
import type { Lack, ProbeOptions } from '../process/tier.ts';

export type ProcessFindings = {
  readonly ok: true;
  readonly launcher: string;
  readonly launcherSha256: string;
  readonly namespaces: Attempt;
  readonly hasLandlock: boolean;
  /** Our own namespaces, by name: a run with new ones must not be in them. */
  readonly ownNamespaces: Readonly<Record<string, string>>;
  readonly ownThreads: () => number;
  /** Whether every user can reach a path. */
  readonly isReachable: (path: string) => boolean;
};

export async function probeB(options: ProbeOptions): Promise<ProcessFindings | Lack> {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const namespaces = await tryNamespaces(launcher.path, options);
  // It only replaces namespaces, so where those exist the first call does not wait for it.
  const hasLandlock = !namespaces.ok && (await tryLandlock(launcher.path, options)).ok;
  return {
    ok: true,
    launcher: launcher.path,
    launcherSha256: launcher.sha256,
    namespaces,
    hasLandlock,
    ownNamespaces: ownNamespaces(),
    ownThreads: () => threadsOf(options.runAs?.uid ?? process.getuid?.() ?? 0),
    isReachable: isInReachOfAll,
  };
}
