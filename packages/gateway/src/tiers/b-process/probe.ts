/** What this machine can enforce of tier B, measured by starting something harmless. */
import { accept, type Result } from '../../core/result.ts';
import { type Attempt, tryLandlock, tryNamespaces } from '../process/attempt.ts';
import { findLauncher } from '../process/launcher.ts';
import { isInReachOfAll, ownNamespaces, threadsOf } from '../process/machine.ts';
import type { Facts, Lack, ProbeOptions } from '../process/tier.ts';

export type ProcessFindings = {
  readonly launcher: string;
  readonly launcherSha256: string;
  readonly namespaces: Attempt;
  readonly hasLandlock: boolean;
  /** Our own namespaces, by name: a run with new ones must not be in them. */
  readonly ownNamespaces: Facts;
  readonly ownThreads: () => number;
  readonly isReachable: (path: string) => boolean;
};

export async function probeB(options: ProbeOptions): Promise<Result<ProcessFindings, Lack>> {
  const found = findLauncher(options);
  if (!found.ok) return found;
  const { path: launcher, sha256: launcherSha256 } = found.value;
  const namespaces = await tryNamespaces(launcher, options);
  // It only replaces namespaces, so where those exist the first call does not wait for it.
  const hasLandlock = !namespaces.ok && (await tryLandlock(launcher, options)).ok;
  return accept({
    launcher,
    launcherSha256,
    namespaces,
    hasLandlock,
    ownNamespaces: ownNamespaces(),
    ownThreads: () => threadsOf(options.runAs?.uid ?? process.getuid?.() ?? 0),
    isReachable: isInReachOfAll,
  });
}
