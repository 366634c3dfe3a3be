/* Tier C: a native command in a jail that bubblewrap builds and the kernel enforces. */
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
  shortDigest,
  type TierRow,
} from '../process/tier.ts';
import { ownArch, seccompProgram } from '../seccomp/filter.ts';
import type { Jail } from './jail.ts';
import { FILTERS_C, filterOfC, planC } from './plan.ts';
import { isAtLeast, type JailFindings, NESTED_MOUNTS_SINCE, probeC, REQUIRED_OPTIONS } from './probe.ts';

export const jailTier: ProcessTier = {
  name: 'c',
  enforces: 'a root of its own, all namespaces, no capability, limits of resources and system calls',
  isolation: [
    NO_NEW_PRIVILEGES,
    SYSTEM_CALL_FILTER,
    { name: 'capabilities', fact: 'cap', detail: () => 'are none, in all five sets' },
    { name: 'network', fact: 'interfaces', detail: (facts) => `is none: only ${facts.interfaces}` },
    RESOURCE_LIMITS,
    { name: 'namespaces', fact: 'ns.', detail: () => 'are new, all seven' },
    {
      name: 'writable places',
      fact: 'mounts_rw',
      detail: (facts) => `are as planned: ${(facts.mounts_rw ?? '').replaceAll(',', ', ')}`,
    },
  ],
  probe: async (options) => {
    const found = await probeC(options);
    if (!found.ok) return found;
    const { value } = found;
    return accept({ tier: tierOfC(value), launcher: value.launcher, rows: jailRows(value) });
  },
};

function tierOfC(found: JailFindings): CommandTier {
  const { bwrapSha256, launcherSha256 } = found;
  const bwrapVersion = found.bwrapVersion.join('.');
  const filters = {
    connected: seccompProgram(ownArch(), FILTERS_C.connected),
    own: seccompProgram(ownArch(), FILTERS_C.own),
    shared: seccompProgram(ownArch(), FILTERS_C.shared),
  };
  const jails = new Map<string, Jail>();
  return {
    name: 'c',
    executor: `bubblewrap@${bwrapVersion}`,
    about: { boundary: 'bubblewrap', bwrapVersion, bwrapSha256, launcherSha256 },
    plan: (terms, place) => {
      const seccomp = filters[filterOfC(terms, found)];
      return proving(planC(terms, { ...found, ...place, seccomp, jails }), found.ownNamespaces);
    },
  };
}

function jailRows({
  bwrap,
  bwrapVersion,
  bwrapSha256,
  bwrapOptions,
  canConnect,
}: JailFindings): readonly TierRow[] {
  const version = bwrapVersion.join('.');
  const absent = REQUIRED_OPTIONS.filter((option) => !bwrapOptions.includes(option));
  const newest = `Install bubblewrap ${NESTED_MOUNTS_SINCE.join('.')} or newer`;
  return [
    row('c', 'bubblewrap', `${version}, ${bwrap}, sha256 ${shortDigest(bwrapSha256)}`),
    absent.length === 0
      ? row('c', 'options of bubblewrap', `are all there (${REQUIRED_OPTIONS.length})`)
      : lackRow('c', 'options of bubblewrap', {
          why: `lack ${absent.join(', ')}`,
          fix: `${newest}, or the security update of your distribution.`,
        }),
    isAtLeast(bwrapVersion, NESTED_MOUNTS_SINCE)
      ? row('c', 'protected paths', 'can be mounted in a workspace')
      : lackRow('c', 'protected paths', {
          why: `cannot be mounted in a workspace: bubblewrap ${version} follows links of the workspace to the host`,
          fix: `${newest}; until then commands with \`process.protected\` are refused.`,
        }),
    canConnect
      ? row('c', 'unix sockets', 'connect the processes of a command with each other, and with no other')
      : lackRow('c', 'unix sockets', {
          why: 'are refused: the launcher cannot supervise their connections here',
          fix: 'Use Linux 5.19 or newer, start palisade outside of sandboxes that supervise system calls, and set `sysctl -w kernel.yama.ptrace_scope=1` if it is higher.',
        }),
  ];
}
