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

/**
 * How the limits of each process stand to those of the tree. Where the run is in a group, that counts exactly and says
 * which limit was met, so it has to be met first; without one the limits of a process are all there is.
 */
export type Standing = {
  /** Processes of ours that count among the run's, or threads of its user that are there already. */
  readonly others: number;
  readonly hasGroup: boolean;
};

/** How far RLIMIT_NPROC stands behind the limit of a group. */
const PROCESSES_BEHIND = 16;

/** How many times the memory of a group RLIMIT_DATA is: programs reserve much more than they use. */
const DATA_BEHIND = 4;

/** The launcher's words for limits. */
export function limitWords(limits: ProcessLimits, standing: Standing): readonly string[] {
  return [
    ...Object.entries(rlimits(limits, standing)).map(([name, value]) => `${name}=${value}`),
    `stack=${STACK_BYTES}`,
    `cpums=${limits.cpuMs}`,
    `wallms=${limits.wallMs}`,
    `output=${limits.outputBytes}`,
  ];
}

/** What the launcher must report of the limits it set; open files are left out, as a lower hard limit may narrow them. */
export function limitFacts(limits: ProcessLimits, standing: Standing): Readonly<Record<string, string>> {
  const { nofile: _, ...exact } = rlimits(limits, standing);
  const facts = Object.entries(exact).map(([name, value]) => [`rlimit.${name}`, String(value)]);
  return { ...Object.fromEntries(facts), 'rlimit.core': '0' };
}

/** The launcher's words for the environment of the command: these variables and no other. */
export function environmentWords(env: Readonly<Record<string, string>>): readonly string[] {
  const names = Object.keys(env).sort();
  return names.map((name) => `set=${name}=${env[name] ?? ''}`);
}

/** The launcher's words for the ids of the run and the ownership of its workspace, which a user namespace maps. */
export function identityWords(
  { uid, gid }: AsRoot,
  { workspaceFd, mapFd }: { readonly workspaceFd: number; readonly mapFd: number },
): readonly string[] {
  return [`uid=${uid}`, `gid=${gid}`, `workspace=${workspaceFd}`, `map=${mapFd}`];
}

function rlimits(limits: ProcessLimits, { others, hasGroup }: Standing): Readonly<Record<string, number>> {
  return {
    cpu: Math.ceil(limits.cpuMs / 1000) + CPU_SLACK_S,
    data: limits.memoryBytes * (hasGroup ? DATA_BEHIND : 1),
    fsize: limits.fileBytes,
    nofile: limits.openFiles,
    nproc: limits.processes + others + (hasGroup ? PROCESSES_BEHIND : 0),
  };
}
