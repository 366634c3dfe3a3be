/** The result of a command that has ended: the outcome, its usage, and its isolation. */
import type { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';
import { NO_USAGE } from '../../core/limits.ts';
import type { FailedCode } from '../../core/outcome.ts';
import type { ProcessTerms } from '../../core/process.ts';
import type { ChildEnd } from '../child/child.ts';
import type { LauncherStatus } from '../child/status.ts';
import type { RunNetwork } from '../network/networks.ts';
import { reportOf } from '../network/report.ts';
import type { RunResult } from '../tier.ts';
import { diffSnapshots, firstOf } from '../workspace/diff.ts';
import { FINDINGS } from '../workspace/findings.table.ts';
import { isSameFile } from '../workspace/held-directory.ts';
import { findingsIn } from '../workspace/hygiene.ts';
import { type Snapshot, takeSnapshot } from '../workspace/snapshot.ts';
import { cpuMsCharged, isTruncated, outputOfRun, type Ran, type Verdict, verdictOf } from './ending.ts';
import type { CommandTier } from './plan.ts';
import type { Ready } from './sandbox.ts';

/** A command that has ended, and what its launcher reported. */
export type Started = { readonly end: ChildEnd; readonly status: LauncherStatus | null };

type Finished = Started & {
  readonly ready: Ready;
  readonly terms: ProcessTerms;
  readonly before: Before;
  readonly network: RunNetwork | null;
};

/** The result of a command that ran, or started to. */
export async function resultOf(tier: CommandTier, finished: Finished): Promise<RunResult> {
  const { end, status, terms, before, network } = finished;
  const { sandbox, isWarm } = finished.ready;
  const { group } = sandbox;
  const ran: Ran = { end, status, group: group?.usage() ?? null, limits: terms.limits };
  const after = await lookAfter(terms.workspace, before);
  const verdict = proven(finished) ?? verdictOf(ran);
  const report = reportOf(terms, network?.facts() ?? null);
  const output = { ...outputOfRun(ran, verdict?.limit ?? null), ...after, ...report.output };
  const isolation = {
    ...tier.about,
    started: isWarm ? 'warm' : 'cold',
    ...report.isolation,
    ...(group?.facts() ?? { cgroup_kind: 'none' }),
    ...status?.facts,
  };
  const cpuMs = cpuMsCharged(ran);
  return {
    ending: verdict === null ? { status: 'ok', output } : failedWith(verdict, output, isTruncated(ran)),
    usage: {
      ...{ ...NO_USAGE, calls: 1, wallMs: Math.ceil(end.wallMs), cpuMs },
      ...{ outputBytes: end.outputBytes, egressBytes: report.bytes },
    },
    execution: { tier: tier.name, executor: tier.executor, isolation },
    ...(report.record === null ? {} : { egress: report.record }),
  };
}

function failedWith({ code, message }: Pick<Verdict, 'code' | 'message'>, output: Json, truncated: boolean) {
  return { status: 'failed', code, message, output, truncated } as const;
}

/** Boundary: a command that ran without its isolation being reported never counts as a success, whatever it says. */
function proven({ status, ready }: Finished): Verdict | null {
  if (status === null || status.pid === null) return null;
  const gap = ready.plan.missing(status.facts);
  if (gap === null) return null;
  const message = `Cannot vouch for the sandbox: ${gap.text}`;
  return { code: 'tier/unproven', message, limit: null };
}

/** It never started: the queue was too long, or the machine no longer provides what was planned. */
export function unstarted(tier: CommandTier, error: CodedError, wallMs: number): RunResult {
  const isKnown = error.code === 'tier/cancelled' || error.code === 'tier/timed-out';
  const code: FailedCode = isKnown ? (error.code as FailedCode) : 'tier/not-started';
  return {
    ending: failedWith({ code, message: error.message }, null, false),
    usage: { ...NO_USAGE, calls: 1, wallMs },
    execution: { tier: tier.name, executor: tier.executor, isolation: { boundary: 'never started' } },
  };
}

/** The workspace before the run; null where it could not be inspected. */
type Before = Snapshot | null;

const BOUNDS = { maxEntries: 50_000 };
const MOST_CHANGES = 200;
const MOST_FINDINGS = 100;
/** Boundary: a run that makes its workspace unreadable does not count as one that left nothing in it. */
const UNSEEN = { path: '.', why: 'unseen', ...FINDINGS.unseen };

/** What a run left in its workspace, for the caller: what it changed, and which changes are dangerous to the host. */
export function lookBefore(workspace: string): Promise<Before> {
  return takeSnapshot(workspace, BOUNDS).catch(() => null);
}

/** The part of a result about the workspace. An incomplete inspection is reported as such. */
async function lookAfter(workspace: string, before: Before): Promise<Record<string, Json>> {
  const after = await takeSnapshot(workspace, BOUNDS).catch(() => null);
  if (before === null || after === null || !isOneWorkspace(before, after)) {
    return { changes: [], findings: [UNSEEN], workspaceSeen: 'not at all' };
  }
  const all = diffSnapshots(before, after);
  const changes = firstOf(all, MOST_CHANGES);
  const findings = firstOf(findingsIn(all, after, workspace), MOST_FINDINGS);
  const isWhole = before.gaps.length === 0 && after.gaps.length === 0;
  return {
    changes: changes.items.map(({ path, change, kind }) => ({ path, change, kind })),
    ...(changes.more > 0 ? { moreChanges: changes.more } : {}),
    findings: findings.items.map(({ path, why, severity, sentence }) => ({ path, why, severity, sentence })),
    ...(findings.more > 0 ? { moreFindings: findings.more } : {}),
    workspaceSeen: isWhole ? 'whole' : 'in part',
  };
}

/** Boundary: a directory that has replaced the workspace in the meantime is not compared with it. */
function isOneWorkspace(before: Snapshot, after: Snapshot): boolean {
  const [was, is] = [before.entries.get('.'), after.entries.get('.')];
  return was !== undefined && is !== undefined && isSameFile(was, is);
}
