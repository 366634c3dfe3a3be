/*
 * Tier B: a native command under limits. This is resource control, not confinement, and the receipt says so: without
 * namespaces the command can read what its user can read.
 */
import { arch } from 'node:os';
import { type CommandPlan, type CommandTier, missingFact, sharedNamespace } from '../process/plan.ts';
import {
  lackRow,
  NO_NEW_PRIVILEGES,
  type ProcessTier,
  RESOURCE_LIMITS,
  row,
  SYSTEM_CALL_FILTER,
  type TierRow,
} from '../process/tier.ts';
import { seccompProgram } from '../seccomp/filter.ts';
import { FILTERS_B, filterOfB, planB } from './plan.ts';
import { type ProcessFindings, probeB } from './probe.ts';

export const processTier: ProcessTier = {
  name: 'b',
  enforces: 'limits of resources and system calls',
  isolation: [NO_NEW_PRIVILEGES, SYSTEM_CALL_FILTER, RESOURCE_LIMITS],
  probe: async (options) => {
    const found = await probeB(options);
    if (!found.ok) return found;
    return { ok: true, tier: tierOfB(found), launcher: found.launcher, rows: [namespaceRow(found)] };
  },
};

/** Tier B on a machine with these findings. */
export function tierOfB(found: ProcessFindings): CommandTier {
  const { launcherSha256, hasLandlock } = found;
  const hasNamespaces = found.namespaces.ok;
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
        hasNamespaces,
        hasLandlock,
        cgroupDescriptors: cgroups,
        asRoot,
        pass,
        hasStreams,
        seccomp: filters[filterOfB(terms)],
        ownThreads: hasNamespaces ? 0 : found.ownThreads(),
        isReachable: asRoot === null || found.isReachable(terms.workspace),
      });
      if (!plan.ok) return plan;
      const { expected, ...rest } = plan;
      const missing: CommandPlan['missing'] = (facts) =>
        missingFact(facts, expected.equal) ??
        sharedNamespace(facts, expected.newNamespaces, found.ownNamespaces) ??
        (expected.landlock && facts.landlock === '0' ? NO_LANDLOCK : null);
      return { ...rest, args: [], missing };
    },
  };
}

const NO_LANDLOCK = { fact: 'landlock', text: 'Landlock is off, expected it on' };

function namespaceRow({ namespaces, hasLandlock }: ProcessFindings): TierRow {
  if (namespaces.ok) return row('b', 'namespaces', 'of users, pids, mounts and IPC are new for each command');
  const why = hasLandlock
    ? 'are missing: Landlock replaces them where a command has no network'
    : 'are missing: a command reads and writes what its user may';
  return lackRow('b', 'namespaces', { why, fix: 'Apply the fix for user namespaces.' });
}
