import { arch } from 'node:os';
import { type CommandPlan, type CommandTier, missingFact, sharedNamespace } from '../process/plan.ts';
import { seccompProgram } from '../seccomp/filter.ts';
import { FILTERS_B, filterOfB, planB } from './plan.ts';

/*
 * Tier B: a native command under limits. Resource control, not confinement, and the receipt says so: without namespaces
 * the command reads what its user may read.
 */

/** What the probe found. */
export type ProcessFindings = {
  readonly launcherSha256: string;
  readonly hasNamespaces: boolean;
  readonly hasLandlock: boolean;
  /** Our own namespaces, by name: a run must not be in them where it has new ones. */
  readonly ownNamespaces: Readonly<Record<string, string>>;
  readonly ownThreads: () => number;
  /** Whether every user can walk to a path. */
  readonly isReachable: (path: string) => boolean;
};

export function processTier(found: ProcessFindings): CommandTier {
  const { launcherSha256, hasNamespaces, hasLandlock } = found;
  const machine = arch() === 'arm64' ? 'arm64' : 'x64';
  const filters = {
    inet: seccompProgram(machine, FILTERS_B.inet),
    local: seccompProgram(machine, FILTERS_B.local),
  };
  return {
    name: 'b',
    executor: `palisade-launcher@${launcherSha256}`,
    about: { boundary: hasNamespaces ? 'process in a pid namespace' : 'process', launcherSha256 },
    plan: (terms, { cgroups, asRoot, pass, hasStreams = false }) => {
      const plan = planB(terms, {
        ...{ hasNamespaces, hasLandlock, cgroupDescriptors: cgroups, asRoot, pass, hasStreams },
        seccomp: filters[filterOfB(terms)],
        ownThreads: hasNamespaces ? 0 : found.ownThreads(),
        isReachable: asRoot === null || found.isReachable(terms.workspace),
      });
      if (!plan.ok) return plan;
      const { words, told, descriptors, network, expected } = plan;
      const missing: CommandPlan['missing'] = (facts) =>
        missingFact(facts, expected.equal) ??
        sharedNamespace(facts, expected.newNamespaces, found.ownNamespaces) ??
        (expected.landlock && facts.landlock === '0' ? 'Landlock is off, expected it on' : null);
      return { ok: true, words, args: [], told, descriptors, network, missing };
    },
  };
}
