/** The files of a group, one row each: what is written to limit a run, and what is read to know what it used. */

export type GroupLimits = {
  readonly memoryBytes: number;
  /** Tasks as the kernel counts them: each process and each further thread, including those of the launcher. */
  readonly processes: number;
};

/** `unified`: what every group of version 2 has without a controller. */
export type Controller = 'memory' | 'pids' | 'cpuacct' | 'unified';

/** For version 1, where each can be a separate tree. */
export const SEPARATE_CONTROLLERS = ['memory', 'pids', 'cpuacct'] as const;

type LimitRow = {
  readonly version: 1 | 2;
  readonly controller: Controller;
  readonly file: string;
  readonly valueOf: (limits: GroupLimits) => number;
  /** The name under which the value that the kernel accepted is reported. */
  readonly fact: string;
  /** A kernel without swap, or without swap accounting, has no such file. */
  readonly optional: boolean;
};

/** In the order of writing: version 1 accepts a limit of memory and swap only above that of memory. */
export const LIMITS: readonly LimitRow[] = [
  {
    version: 2,
    controller: 'memory',
    file: 'memory.max',
    valueOf: ({ memoryBytes }) => memoryBytes,
    fact: 'memory_max_bytes',
    optional: false,
  },
  {
    version: 2,
    controller: 'memory',
    file: 'memory.swap.max',
    valueOf: () => 0,
    fact: 'swap_max_bytes',
    optional: true,
  },
  {
    version: 1,
    controller: 'memory',
    file: 'memory.limit_in_bytes',
    valueOf: ({ memoryBytes }) => memoryBytes,
    fact: 'memory_max_bytes',
    optional: false,
  },
  {
    version: 1,
    controller: 'memory',
    file: 'memory.memsw.limit_in_bytes',
    valueOf: ({ memoryBytes }) => memoryBytes,
    fact: 'memory_and_swap_max_bytes',
    optional: true,
  },
  // Where swap is not counted, this at least keeps the pages of the group out of it.
  {
    version: 1,
    controller: 'memory',
    file: 'memory.swappiness',
    valueOf: () => 0,
    fact: 'swappiness',
    optional: true,
  },
  {
    version: 2,
    controller: 'pids',
    file: 'pids.max',
    valueOf: ({ processes }) => processes,
    fact: 'processes_max',
    optional: false,
  },
  {
    version: 1,
    controller: 'pids',
    file: 'pids.max',
    valueOf: ({ processes }) => processes,
    fact: 'processes_max',
    optional: false,
  },
];

export type Usage = 'peakMemoryBytes' | 'cpuUs' | 'oomKills' | 'pidsRefused';

type UsageRow = {
  readonly usage: Usage;
  readonly version: 1 | 2;
  readonly controller: Controller;
  readonly file: string;
  /** The line with this key; null for a file that contains one number. */
  readonly key: string | null;
  readonly divisor: number;
};

export const USAGE: readonly UsageRow[] = [
  // Linux 5.19 and later.
  {
    usage: 'peakMemoryBytes',
    version: 2,
    controller: 'memory',
    file: 'memory.peak',
    key: null,
    divisor: 1,
  },
  {
    usage: 'peakMemoryBytes',
    version: 1,
    controller: 'memory',
    file: 'memory.max_usage_in_bytes',
    key: null,
    divisor: 1,
  },
  { usage: 'cpuUs', version: 2, controller: 'unified', file: 'cpu.stat', key: 'usage_usec', divisor: 1 },
  // In nanoseconds.
  { usage: 'cpuUs', version: 1, controller: 'cpuacct', file: 'cpuacct.usage', key: null, divisor: 1000 },
  { usage: 'oomKills', version: 2, controller: 'memory', file: 'memory.events', key: 'oom_kill', divisor: 1 },
  // Linux 4.13 and later.
  {
    usage: 'oomKills',
    version: 1,
    controller: 'memory',
    file: 'memory.oom_control',
    key: 'oom_kill',
    divisor: 1,
  },
  { usage: 'pidsRefused', version: 2, controller: 'pids', file: 'pids.events', key: 'max', divisor: 1 },
  { usage: 'pidsRefused', version: 1, controller: 'pids', file: 'pids.events', key: 'max', divisor: 1 },
];
