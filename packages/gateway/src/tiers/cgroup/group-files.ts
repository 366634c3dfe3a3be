import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeSync,
} from 'node:fs';
import { orElse } from '../../core/result.ts';

/** All operations on a cgroup file system; no other file of this folder touches one. */
export type GroupFiles = {
  /** The contents of a file; null when it does not exist or cannot be read. */
  readonly read: (path: string) => string | null;
  /** Passes the text to the kernel in one write; never creates a file. */
  readonly write: (path: string, text: string) => void;
  /** A descriptor for writing that programs we start do not inherit by accident. */
  readonly open: (path: string) => number;
  readonly close: (descriptor: number) => void;
  readonly makeDirectory: (path: string) => void;
  readonly removeDirectory: (path: string) => void;
  /** The names of the subdirectories of a directory; none when it cannot be read. */
  readonly directories: (path: string) => string[];
};

// Boundary: the kernel makes no links among the files of a group, so none is ever followed. Node adds O_CLOEXEC.
const FOR_READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOR_WRITING = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The files of this machine. */
export const machineFiles: GroupFiles = {
  read: (path) =>
    orElse(() => withDescriptor(path, FOR_READING, (descriptor) => readFileSync(descriptor, 'utf8')), null),
  write: (path, text) => withDescriptor(path, FOR_WRITING, (descriptor) => writeSync(descriptor, text)),
  open: (path) => openSync(path, FOR_WRITING),
  close: (descriptor) => closeSync(descriptor),
  makeDirectory: (path) => mkdirSync(path, { mode: 0o755 }),
  removeDirectory: (path) => rmdirSync(path),
  directories: (path) => {
    const entries = orElse(() => readdirSync(path, { withFileTypes: true }), []);
    // A link to a directory does not count as a directory.
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  },
};

function withDescriptor<T>(path: string, flags: number, use: (descriptor: number) => T): T {
  const descriptor = openSync(path, flags);
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The errno name of a failed operation, else its message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error.message;
}

/** Removes a directory; returns the errno name on failure, including when it did not exist. */
export function tryRemove(files: GroupFiles, path: string): string | null {
  try {
    files.removeDirectory(path);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

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
  readonly optional?: true;
};

const memory = ({ memoryBytes }: GroupLimits): number => memoryBytes;
/** Version 1 counts the buffers of TCP beside the memory and not in it; whole pages. */
const tcp = ({ memoryBytes }: GroupLimits): number => Math.max(1, Math.floor(memoryBytes / 16 / 4096)) * 4096;
const processes = (limits: GroupLimits): number => limits.processes;
const none = (): number => 0;

/** In the order of writing: version 1 accepts a limit of memory and swap only above that of memory. */
export const LIMITS: readonly LimitRow[] = [
  limitsOf(2, 'memory', [
    { file: 'memory.max', valueOf: memory, fact: 'memory_max_bytes' },
    { file: 'memory.swap.max', valueOf: none, fact: 'swap_max_bytes', optional: true },
  ]),
  limitsOf(1, 'memory', [
    { file: 'memory.limit_in_bytes', valueOf: memory, fact: 'memory_max_bytes' },
    {
      file: 'memory.memsw.limit_in_bytes',
      valueOf: memory,
      fact: 'memory_and_swap_max_bytes',
      optional: true,
    },
    { file: 'memory.kmem.tcp.limit_in_bytes', valueOf: tcp, fact: 'tcp_max_bytes', optional: true },
    // Where swap is not counted, this at least keeps the pages of the group out of it.
    { file: 'memory.swappiness', valueOf: none, fact: 'swappiness', optional: true },
  ]),
  limitsOf(2, 'pids', [{ file: 'pids.max', valueOf: processes, fact: 'processes_max' }]),
  limitsOf(1, 'pids', [{ file: 'pids.max', valueOf: processes, fact: 'processes_max' }]),
].flat();

function limitsOf(
  version: 1 | 2,
  controller: Controller,
  rows: readonly Omit<LimitRow, 'version' | 'controller'>[],
): readonly LimitRow[] {
  return rows.map((row) => ({ ...row, version, controller }));
}

export type Usage = 'peakMemoryBytes' | 'cpuUs' | 'oomKills' | 'pidsRefused';

type UsageRow = Pick<LimitRow, 'version' | 'controller' | 'file'> & {
  readonly usage: Usage;
  /** The line with this key; left out for a file that contains one number. */
  readonly key?: string;
  readonly divisor?: number;
};

export const USAGE: readonly UsageRow[] = [
  // Linux 5.19 and later.
  { usage: 'peakMemoryBytes', version: 2, controller: 'memory', file: 'memory.peak' },
  { usage: 'peakMemoryBytes', version: 1, controller: 'memory', file: 'memory.max_usage_in_bytes' },
  { usage: 'cpuUs', version: 2, controller: 'unified', file: 'cpu.stat', key: 'usage_usec' },
  // In nanoseconds.
  { usage: 'cpuUs', version: 1, controller: 'cpuacct', file: 'cpuacct.usage', divisor: 1000 },
  { usage: 'oomKills', version: 2, controller: 'memory', file: 'memory.events', key: 'oom_kill' },
  // Linux 4.13 and later.
  { usage: 'oomKills', version: 1, controller: 'memory', file: 'memory.oom_control', key: 'oom_kill' },
  { usage: 'pidsRefused', version: 2, controller: 'pids', file: 'pids.events', key: 'max' },
  { usage: 'pidsRefused', version: 1, controller: 'pids', file: 'pids.events', key: 'max' },
];
