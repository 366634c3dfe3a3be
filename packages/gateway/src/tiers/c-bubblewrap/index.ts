import { arch } from 'node:os';
import { type CommandPlan, type CommandTier, missingFact, sharedNamespace } from '../process/plan.ts';
import { seccompProgram } from '../seccomp/filter.ts';
import { FILTER_WISH_C, type JailHost, planC } from './plan.ts';

/* Tier C on Linux: a native command in a jail that bubblewrap builds and the kernel holds. */

/** What the probe found. */
export type JailFindings = Pick<
  JailHost,
  'bwrap' | 'bwrapVersion' | 'bwrapOptions' | 'systemRoots' | 'etc'
> & {
  readonly bwrapSha256: string;
  readonly launcherSha256: string;
  /** Our own namespaces, by name: a run must not be in them. */
  readonly ownNamespaces: Readonly<Record<string, string>>;
};

export function jailTier(found: JailFindings): CommandTier {
  const version = found.bwrapVersion.join('.');
  const seccomp = seccompProgram(arch() === 'arm64' ? 'arm64' : 'x64', FILTER_WISH_C);
  return {
    name: 'c',
    executor: `bubblewrap@${version}`,
    about: {
      boundary: 'bubblewrap',
      bwrapVersion: version,
      bwrapSha256: found.bwrapSha256,
      launcherSha256: found.launcherSha256,
    },
    plan: (terms, { cgroups, asRoot, pass, hasStreams = false }) => {
      const plan = planC(terms, { ...found, seccomp, cgroupDescriptors: cgroups, asRoot, pass, hasStreams });
      if (!plan.ok) return plan;
      const { expected, workspace: _, ...rest } = plan;
      const missing: CommandPlan['missing'] = (facts) =>
        missingFact(facts, expected.equal) ??
        sharedNamespace(facts, expected.newNamespaces, found.ownNamespaces) ??
        openMount(facts, expected.mountsRw);
      return { ...rest, missing };
    },
  };
}

/** Which mount can be written although it should not be, or is gone although it should be there. */
function openMount(facts: Readonly<Record<string, string>>, expected: readonly string[]): string | null {
  const writable = (facts.mounts_rw ?? '').split(',').filter((path) => path !== '');
  const more = writable.find((path) => !expected.includes(path));
  if (more !== undefined) return `"${more}" can be written, expected it read-only`;
  const less = expected.find((path) => !writable.includes(path));
  return less === undefined ? null : `"${less}" is not there to be written`;
}
