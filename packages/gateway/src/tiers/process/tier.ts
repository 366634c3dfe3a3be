/** What the tiers of native commands have in common: their row, the findings of a probe, and how they are displayed. */
import type { Clock } from '../../core/clock.ts';
import type { ProcessTierName } from '../../core/process.ts';
import type { Result } from '../../core/result.ts';
import type { FileShelf } from '../../store/file-shelf.ts';
import type { CommandTier } from './plan.ts';

/** What the launcher reports from inside, by the names that follow "fact.". */
export type Facts = Readonly<Record<string, string>>;

/** One tier. A new one is a folder with `plan.ts`, `probe.ts` and `index.ts`, and a row of tiers.table.ts. */
export type ProcessTier = {
  readonly name: ProcessTierName;
  /** What it enforces, as it follows the word "enforces". */
  readonly enforces: string;
  readonly probe: (options: ProbeOptions) => Promise<Probed>;
  /** What a run reports, in the order in which its plan checks it. */
  readonly isolation: readonly IsolationFact[];
};

/** One row of what a run reports of its isolation. */
export type IsolationFact = {
  readonly name: string;
  /** The prefix of the names of its facts. */
  readonly fact: string;
  readonly detail: (facts: Facts) => string;
};

/** The launcher of one platform, in a package of its own. */
export type ReleasedLauncher = {
  readonly platform: string;
  readonly arch: string;
  readonly package: string;
  readonly sha256: string;
};

/** The paths at which one that was built here may be; or, in a release, those that belong to it. */
export type Launchers =
  | readonly string[]
  | {
      readonly released: readonly ReleasedLauncher[];
      /** The folders of packages that are searched, in order. */
      readonly folders: readonly string[];
    };

export type ProbeOptions = {
  readonly clock: Clock;
  readonly launchers: Launchers;
  readonly bwraps?: readonly string[];
  readonly runAs: { readonly uid: number; readonly gid: number } | null;
  readonly platform?: NodeJS.Platform;
  /** What programs with these digests said of themselves, and what worked before; without it each is asked and tried. */
  readonly said?: Pick<FileShelf, 'read' | 'write' | 'remove'>;
  readonly arch?: NodeJS.Architecture;
};

/** A missing requirement, and what to do about it. */
export type Lack = { readonly why: string; readonly fix: string };

/** A tier that can be planned here; every run reports again whether its isolation is effective. */
export type Found = {
  readonly tier: CommandTier;
  readonly launcher: string;
  readonly rows: readonly TierRow[];
};
export type Probed = Result<Found, Lack>;

/** One requirement of commands. `name` and `detail` read as one sentence. */
export type TierRow = {
  /** Null: for all that run commands. */
  readonly tier: 'a' | ProcessTierName | null;
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string;
  /** What the operator can do; null where nothing needs doing. */
  readonly fix: string | null;
};

/** The row of something that this machine has. */
export function row(tier: TierRow['tier'], name: string, detail: string): TierRow {
  return { tier, name, holds: true, detail, fix: null };
}

/** The row of something that it lacks. */
export function lackRow(tier: TierRow['tier'], name: string, { why, fix }: Lack): TierRow {
  return { tier, name, holds: false, detail: why, fix };
}

/** As much of a digest as people compare. */
export function shortDigest(sha256: string): string {
  return `${sha256.slice(0, 16)}…`;
}

// What every tier reports of a run; the plan alone decides whether the isolation is sufficient.

const LIMITS = ['cpu', 'data', 'fsize', 'nofile', 'nproc', 'core'];

export const NO_NEW_PRIVILEGES: IsolationFact = { name: 'no_new_privs', fact: 'nnp', detail: () => 'is set' };
export const SYSTEM_CALL_FILTER: IsolationFact = {
  name: 'system call filter',
  fact: 'seccomp',
  detail: (facts) => `is active (mode ${facts.seccomp})`,
};
export const RESOURCE_LIMITS: IsolationFact = {
  name: 'limits of a process',
  fact: 'rlimit.',
  detail: (facts) => `are ${LIMITS.map((name) => `${name} ${facts[`rlimit.${name}`]}`).join(', ')}`,
};
