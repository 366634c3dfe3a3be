/*
 * Tier B: a native command under limits. This is resource control, not confinement, and the receipt says so: without
 * namespaces the command can read what its user can read.
 */
import { accept } from '../../core/result.ts';
import type { CommandTier } from '../process/plan.ts';
import { proving } from '../process/proof.ts';
import {
  lackRow,
  NO_NEW_PRIVILEGES,
  type ProcessTier,
  RESOURCE_LIMITS,
  row,
  SYSTEM_CALL_FILTER,
  type TierRow,
} from '../process/tier.ts';
import { ownArch, seccompProgram } from '../seccomp/filter.ts';
import { FILTERS_B, filterOfB, planB } from './plan.ts';
import { type ProcessFindings, probeB } from './probe.ts';

export const processTier: ProcessTier = {
  name: 'b',
  enforces: 'limits of resources and system calls',
  isolation: [NO_NEW_PRIVILEGES, SYSTEM_CALL_FILTER, RESOURCE_LIMITS],
  probe: async (options) => {
    const found = await probeB(options);
    if (!found.ok) return found;
    const { value } = found;
    return accept({ tier: tierOfB(value), launcher: value.launcher, rows: [namespaceRow(value)] });
  },
};

/** Tier B on a machine with these findings. */
export function tierOfB(found: ProcessFindings): CommandTier {
  const { launcherSha256, hasLandlock } = found;
  const hasNamespaces = found.namespaces.ok;
  const filters = {
    inet: seccompProgram(ownArch(), FILTERS_B.inet),
    local: seccompProgram(ownArch(), FILTERS_B.local),
  };
  return {
    name: 'b',
    executor: `palisade-launcher@${launcherSha256}`,
    about: { boundary: hasNamespaces ? 'process in a pid namespace' : 'process', launcherSha256 },
    plan: (terms, place) => {
      const plan = planB(terms, {
        ...place,
        hasNamespaces,
        hasLandlock,
        seccomp: filters[filterOfB(terms)],
        ownThreads: hasNamespaces ? 0 : found.ownThreads(),
        isReachable: place.asRoot === null || found.isReachable(terms.workspace),
      });
      return proving(plan, found.ownNamespaces);
    },
  };
}

function namespaceRow({ namespaces, hasLandlock }: ProcessFindings): TierRow {
  if (namespaces.ok) return row('b', 'namespaces', 'of users, pids, mounts and IPC are new for each command');
  const why = hasLandlock
    ? 'are missing: Landlock replaces them where a command has no network'
    : 'are missing: a command reads and writes what its user may';
  return lackRow('b', 'namespaces', { why, fix: 'Apply the fix for user namespaces.' });
}
