import type { ChildEnd } from '../../../src/tiers/child/child.ts';
import type { LauncherStatus } from '../../../src/tiers/child/status.ts';
import type { Ran } from '../../../src/tiers/process/ending.ts';
import { sampleTerms } from '../terms.ts';

/** A launcher that ended by itself and wrote nothing, with the given changes. */
export function sampleEnd(changes: Partial<ChildEnd> = {}): ChildEnd {
  const none = new Uint8Array(0);
  return {
    exitCode: 0,
    signal: null,
    stdout: none,
    stderr: none,
    outputBytes: 0,
    truncated: false,
    stopped: null,
    read: [],
    wallMs: 12,
    spawnError: null,
    ...changes,
  };
}

/** The report of a command that gave 0, with the given changes. */
export function sampleStatus(changes: Partial<LauncherStatus> = {}): LauncherStatus {
  return {
    facts: {},
    pid: 7,
    exit: 0,
    signal: null,
    limit: null,
    cancelled: false,
    execError: null,
    failed: null,
    usage: {
      ...{ userUs: 1500, systemUs: 700, lostUs: 0 },
      ...{ maxRssKb: 2048, readBlocks: 8, writeBlocks: 16, wallUs: 9000 },
    },
    outputBytes: 0,
    dropped: { stdout: 0, stderr: 0 },
    outward: 0,
    left: 0,
    done: true,
    ...changes,
  };
}

/** What a launcher said that was stopped before it could speak of an end. */
export const BROKEN_OFF = { exit: null, usage: null, outputBytes: null, left: null, done: false } as const;

export const NO_GROUP_USAGE = { peakMemoryBytes: null, cpuUs: null, oomKills: 0, pidsRefused: 0 } as const;

type Changes = {
  readonly end?: Partial<ChildEnd>;
  /** Null: what the launcher said makes no sense. */
  readonly status?: Partial<LauncherStatus> | null;
  readonly group?: Partial<Ran['group']> | null;
};

/** A run that ended well, with the given changes. */
export function sampleRan({ end = {}, status = {}, group = null }: Changes = {}): Ran {
  return {
    end: sampleEnd(end),
    status: status === null ? null : sampleStatus(status),
    group: group === null ? null : { ...NO_GROUP_USAGE, ...group },
    limits: sampleTerms().limits,
  };
}
