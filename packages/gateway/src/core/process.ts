import type { Digest } from './digest.ts';
import type { Limits } from './limits.ts';
import type { PortForward } from './ports.ts';
import type { ProtectedName } from './protected.table.ts';

/** The limits of a command's run, for its whole process tree; its output is that of both streams together. */
export type ProcessLimits = Omit<Limits, 'fuel'> & {
  /** One file. */
  readonly fileBytes: number;
  readonly processes: number;
  /** Per process. */
  readonly openFiles: number;
};

/** How the network is restricted: by the kernel, only by checking the arguments, or not at all. */
export type EgressMode = 'strict' | 'preflight' | 'none';

/** What happens to a run that writes more output than it may: the middle of it is left out, or the run is ended. */
export const OUTPUT_OVERFLOWS = ['cut', 'kill'] as const;
export type OutputOverflow = (typeof OUTPUT_OVERFLOWS)[number];

/** A run whose output is cut goes on, but not for ever: it is ended when so much of its output was left out. */
export const OUTPUT_FLOOD_BYTES = 1024 * 1024 * 1024;

/** Where a jail has its workspace when the path that it has outside is taken inside. */
export const INNER_WORKSPACE = '/workspace';

/** A file of a command, as it was judged: the program, or a script and what reads it. */
export type JudgedFile = {
  /** With all links resolved. */
  readonly path: string;
  readonly sha256: Digest;
  readonly sizeBytes: number;
  /** For a script: what its first line puts before its path, the interpreter's name and perhaps an argument. */
  readonly interpreter: readonly string[];
  /** Where only root can change the file: its numbers, by which the launcher recognises it. */
  readonly identity: string | null;
  /** Whether the launcher makes sure that what runs has this digest, whatever happens to the file. */
  readonly isPinned: boolean;
};

/** A name and an address for commits, without control characters. */
export type GitIdentity = { readonly name: string; readonly email: string };

/** A command whose every argument was checked: what the policies judged and what runs. */
export type ProcessTerms = {
  /** The file that is executed, with all links resolved. */
  readonly executable: string;
  readonly executableSha256: Digest;
  /** The executable and, if it is a script, the chain of its interpreters; empty for the gateway's own programs. */
  readonly files: readonly JudgedFile[];
  /** The arguments of the command, its own name first. */
  readonly argv: readonly string[];
  /** The canonical directory that the run may write to. */
  readonly workspace: string;
  /** Inside the workspace. */
  readonly cwd: string;
  /** The device and inode of both, by which the launcher recognises them; null for directories of the gateway's own. */
  readonly directories: { readonly workspace: string; readonly cwd: string } | null;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  readonly limits: ProcessLimits;
  readonly outputOverflow: OutputOverflow;
  readonly egress: EgressMode;
  /** What a strict run may reach, as entries of an allow-list; none: it has no network at all. */
  readonly egressHosts: readonly string[];
  /** Names of secrets that are inserted into its requests to the hosts that they are for. */
  readonly secrets: readonly string[];
  /** Ports of its own network that are reachable from the host, on loopback. */
  readonly ports: readonly PortForward[];
  /** Host paths, beside the system's own, that the run may read. */
  readonly readOnly: readonly string[];
  /** Who commits, unless the repository or the command names someone; null: no one. */
  readonly gitIdentity: GitIdentity | null;
  /** Paths in the workspace, relative to it, that the run must not change. */
  readonly protectedPaths: readonly string[];
  /** Rows of the protected files that the run may write. */
  readonly allowedWrites: readonly ProtectedName[];
};

/** What kind of program is started: for an interpreter, a shell or a launcher the arguments are programs themselves. */
export type ExecutableKind = 'plain' | 'interpreter' | 'shell' | 'launcher';

/** The tiers that start native commands, the weakest first; each has a row in tiers/process/tiers.table.ts. */
export const PROCESS_TIER_NAMES = ['b', 'c'] as const;
export type ProcessTierName = (typeof PROCESS_TIER_NAMES)[number];

/** Whether the kernel keeps a command from the files of its user; where it does not, what is started has to be judged. */
export function isConfined(tier: ProcessTierName): boolean {
  return tier !== 'b';
}

export function isWeaker(tier: ProcessTierName, than: ProcessTierName): boolean {
  return PROCESS_TIER_NAMES.indexOf(tier) < PROCESS_TIER_NAMES.indexOf(than);
}

export function strongerThan(tier: ProcessTierName): readonly ProcessTierName[] {
  return PROCESS_TIER_NAMES.filter((each) => isWeaker(tier, each));
}

/** What was determined about a command before it runs, for policies to judge. */
export type ProcessFacts = {
  readonly kind: ExecutableKind;
  readonly tier: ProcessTierName;
  /**
   * Why its program can start any other one where nothing confines that, as it follows the name of the program; null in
   * a confined tier, for a plain program of the system, and for one that the configuration allows.
   */
  readonly guard: string | null;
  /** The directory that the operator granted and that the workspace lies in. */
  readonly root: string;
  /** Every path that the arguments may refer to, resolved; code in an argument is not searched for paths. */
  readonly paths: readonly string[];
  /** Whether there are more of them than were looked at. */
  readonly pathsTruncated: boolean;
  /** Every host that the arguments name. */
  readonly hosts: readonly string[];
};

/** A command that is ready to be judged, and then run exactly as it was judged. */
export type PreparedProcess = {
  readonly terms: ProcessTerms;
  readonly facts: ProcessFacts;
  /**
   * Checks again right before the start: describes what has changed since it was judged; null when nothing has. The
   * descriptor is that of the workspace which the run gets.
   */
  readonly stillHolds: (workspaceFd: number) => string | null;
  /** Describes an argument that leads to another path by now; null when none does. */
  readonly pathsStillHold: () => string | null;
};

/** Whether what runs is certain to have the digest of this file. */
export function isCertain({ identity, isPinned }: JudgedFile): boolean {
  return identity !== null || isPinned;
}

/** The same command with every file held to its digest: for a decision that depends on them. */
export function withPins(process: PreparedProcess): PreparedProcess {
  const files = process.terms.files.map((file) => ({ ...file, isPinned: file.identity === null }));
  return { ...process, terms: { ...process.terms, files } };
}

/** The same command, not started if an argument leads elsewhere by then: for a decision that depends on the paths. */
export function withPaths(process: PreparedProcess): PreparedProcess {
  const { stillHolds, pathsStillHold } = process;
  return { ...process, stillHolds: (workspaceFd) => stillHolds(workspaceFd) ?? pathsStillHold() };
}

export type LimitName = 'wall' | 'cpu' | 'memory' | 'output' | 'file_size' | 'processes' | 'open_files';

/** For a launcher that starts as root: the ids of the run, and the owner of the files in its workspace. */
export type AsRoot = {
  readonly uid: number;
  readonly gid: number;
  readonly owner: { readonly uid: number; readonly gid: number };
};
