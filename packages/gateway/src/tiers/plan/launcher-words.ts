import type { ProcessLimits } from '../../core/process.ts';

/** A launcher that starts as root, the ids that the run gets, and whose files its workspace holds. */
export type AsRoot = {
  readonly uid: number;
  readonly gid: number;
  readonly owner: { readonly uid: number; readonly gid: number };
};

/** The main thread's stack, which RLIMIT_DATA does not count. */
const STACK_BYTES = 8 * 1024 * 1024;

/** The kernel's own CPU limit is per process and in whole seconds: it stands behind the exact one, a second later. */
const CPU_SLACK_S = 1;

/** How far RLIMIT_NPROC stands behind the limit of a group. */
const BEHIND_GROUP = 16;

/**
 * What is added to RLIMIT_NPROC where the run is in a group: the group counts exactly and says that its limit was met,
 * so it has to be met first.
 */
export function behindGroup(groups: number): number {
  return groups > 0 ? BEHIND_GROUP : 0;
}

/** The launcher's words for limits; `processes` is what RLIMIT_NPROC must say so that the command's tree has its number. */
export function limitWords(limits: ProcessLimits, processes: number): readonly string[] {
  return [
    ...Object.entries(rlimits(limits, processes)).map(([name, value]) => `${name}=${value}`),
    `stack=${STACK_BYTES}`,
    `cpums=${limits.cpuMs}`,
    `wallms=${limits.wallMs}`,
    `output=${limits.outputBytes}`,
  ];
}

/** What the launcher must report of the limits it set; open files are left out, as a lower hard limit may narrow them. */
export function limitFacts(limits: ProcessLimits, processes: number): Readonly<Record<string, string>> {
  const { nofile: _, ...exact } = rlimits(limits, processes);
  const facts = Object.entries(exact).map(([name, value]) => [`rlimit.${name}`, String(value)]);
  return { ...Object.fromEntries(facts), 'rlimit.core': '0' };
}

/** The launcher's words for the ids of the run and the ownership of its workspace. */
export function identityWords(asRoot: AsRoot, workspaceFd: number): readonly string[] {
  const { uid, gid, owner } = asRoot;
  return [`uid=${uid}`, `gid=${gid}`, `workspace=${workspaceFd}`, `owner=${owner.uid}:${owner.gid}`];
}

function rlimits(limits: ProcessLimits, processes: number): Readonly<Record<string, number>> {
  return {
    cpu: Math.ceil(limits.cpuMs / 1000) + CPU_SLACK_S,
    data: limits.memoryBytes,
    fsize: limits.fileBytes,
    nofile: limits.openFiles,
    nproc: processes,
  };
}
