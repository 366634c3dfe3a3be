import type { Digest } from './digest.ts';

/** The limits of a command's run; each applies to its whole process tree unless it says otherwise. */
export type ProcessLimits = {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly memoryBytes: number;
  /** Standard output and standard error together. */
  readonly outputBytes: number;
  /** One file. */
  readonly fileBytes: number;
  readonly processes: number;
  /** Per process. */
  readonly openFiles: number;
  /** Sent and received through the proxy of the run. */
  readonly egressBytes: number;
};

/** How the network is restricted: by the kernel, only by checking the arguments, or not at all. */
export type EgressMode = 'strict' | 'preflight' | 'none';

/** A command whose every argument was checked: what the policies judged and what runs. */
export type ProcessTerms = {
  /** The file that is executed, with all links resolved. */
  readonly executable: string;
  readonly executableSha256: Digest;
  /** The arguments of the command, its own name first. */
  readonly argv: readonly string[];
  /** The canonical directory that the run may write to. */
  readonly workspace: string;
  /** Inside the workspace. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly limits: ProcessLimits;
  readonly egress: EgressMode;
  /** What a strict run may reach, as entries of an allow-list; none: it has no network at all. */
  readonly egressHosts: readonly string[];
  /** Names of secrets that are inserted into its requests to the hosts that they are for. */
  readonly secrets: readonly string[];
  /** Host paths, beside the system's own, that the run may read. */
  readonly readOnly: readonly string[];
  /** Paths in the workspace, relative to it, that the run must not change. */
  readonly protectedPaths: readonly string[];
};

/** What kind of program is started: for an interpreter, a shell or a launcher the arguments are programs themselves. */
export type ExecutableKind = 'plain' | 'interpreter' | 'shell' | 'launcher';

/** The tiers that start native commands; each has a row in tiers/process/tiers.table.ts. */
export const PROCESS_TIER_NAMES = ['b', 'c'] as const;
export type ProcessTierName = (typeof PROCESS_TIER_NAMES)[number];

/** What was determined about a command before it runs, for policies to judge. */
export type ProcessFacts = {
  readonly kind: ExecutableKind;
  readonly tier: ProcessTierName;
  /** Every path that the arguments may refer to, resolved. */
  readonly paths: readonly string[];
  /** Every host that the arguments name. */
  readonly hosts: readonly string[];
};

/** A command that is ready to be judged, and then run exactly as it was judged. */
export type PreparedProcess = {
  readonly terms: ProcessTerms;
  readonly facts: ProcessFacts;
  /** Checks again right before the start: describes what has changed since it was judged; null when nothing has. */
  readonly stillHolds: () => string | null;
};

export type LimitName = 'wall' | 'cpu' | 'memory' | 'output' | 'file_size' | 'processes' | 'open_files';

/** For a launcher that starts as root: the ids of the run, and the owner of the files in its workspace. */
export type AsRoot = {
  readonly uid: number;
  readonly gid: number;
  readonly owner: { readonly uid: number; readonly gid: number };
};
