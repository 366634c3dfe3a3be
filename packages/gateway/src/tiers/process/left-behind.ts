/** What a run left in its workspace: what it changed, what was taken back of it, and what is dangerous by its kind. */
import { basename } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { Json } from '../../core/json.ts';
import { formatPrincipal } from '../../core/principal.ts';
import type { ProcessTerms } from '../../core/process.ts';
import type { Runner } from '../network/networks.ts';
import type { Execution } from '../tier.ts';
import type { Recorded } from '../undo/recording.ts';
import type { Recordings } from '../undo/recordings.ts';
import { type Baseline, readBaseline, takeProtectedSnapshot, withoutPlanted } from '../workspace/baseline.ts';
import { FINDINGS } from '../workspace/findings.table.ts';
import { HeldDirectory, type HeldWorkspace } from '../workspace/held-directory.ts';
import { diffSnapshots, type Finding, findingsIn, firstOf } from '../workspace/hygiene.ts';
import type { LeftRuns } from '../workspace/left-runs.ts';
import { type Baselines, shareBaseline } from '../workspace/overlaps.ts';
import { quarantineOf } from '../workspace/quarantine.ts';
import { setAside } from '../workspace/set-aside.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import type { Started } from './ending.ts';
import type { Ready } from './sandbox.ts';

type LookKit = {
  readonly clock: Clock;
  readonly baselines: Baselines;
  readonly quarantine: string;
  /** Keeps runs for the case that the gateway is killed; null where no other gateway follows. */
  readonly leftRuns: LeftRuns | null;
  readonly starterOf: (launcher: string) => string;
  readonly launcher: string;
  /** Records what commands change; null where that is off. */
  readonly recordings?: Recordings | null;
};

/** The workspace before the run, held open to its end. */
export type Before = {
  readonly root: HeldDirectory;
  readonly snapshot: Snapshot;
  readonly baseline: Baseline;
  /** What undoes the run; null where nothing is recorded. */
  readonly recording: Recorded | null;
  readonly close: () => void;
};

/** The parts of a result about the workspace. */
export type LeftBehind = {
  readonly output: Readonly<Record<string, Json>>;
  readonly isolation: Execution['isolation'];
};

type Ended = Started & {
  readonly id: string;
  readonly ready: Ready;
  readonly terms: ProcessTerms;
  readonly before: Before | null;
  /** Whether what it wrote to protected files is taken back. */
  readonly isKept: boolean;
};

const MOST_CHANGES = 200;
const MOST_FINDINGS = 100;
/** Boundary: a run that makes its workspace unreadable does not count as one that left nothing in it. */
const UNSEEN: Finding = { path: '.', why: 'unseen', ...FINDINGS.unseen };
const UNENDED: Finding = {
  path: '.',
  why: 'not-held',
  severity: 'danger',
  sentence: 'It is not certain that every process of the run had ended when protected files were restored.',
};

type Beginning = {
  readonly held: HeldWorkspace;
  readonly terms: ProcessTerms;
  readonly id: string;
  readonly isKept: boolean;
  /** Whose changes are recorded; null: they are not. */
  readonly recorded?: Runner | null;
};

/**
 * Looks at the workspace and copies its protected files; null where it cannot be read. Throws where the copies are needed
 * and cannot be made, or cannot be kept for the case that the gateway is killed.
 */
export async function lookBefore(kit: LookKit, run: Beginning): Promise<Before | null> {
  const { identity, fd } = run.held;
  const undo: (() => void)[] = [];
  const close = () => {
    for (const act of undo.splice(0).reverse()) act();
  };
  try {
    const { workspace } = run.terms;
    const joined = run.isKept ? kit.baselines.enter(identity, workspace) : null;
    if (joined !== null) undo.push(() => kit.baselines.leave(joined));
    const shared = joined ?? { baseline: kit.baselines.of(identity) };
    const others = run.isKept ? await kit.leftRuns?.settle(run.held, workspace) : null;
    const root = HeldDirectory.of(fd);
    undo.push(() => root.close());
    const snapshot = await takeProtectedSnapshot(root, { workspace });
    const nowMs = kit.clock.nowMs();
    const oldest = shared.baseline ?? others;
    const own = oldest ?? readBaseline(root, snapshot, { workspace, nowMs });
    const baseline = oldest ?? newBaseline(kit, run, own);
    shared.baseline = baseline;
    if (run.isKept) undo.push(keepRun(kit, run, { baseline, nowMs }));
    const isAlone = oldest == null && baseline === own;
    const known = isAlone ? snapshot : withoutPlanted(snapshot, workspace, baseline);
    const recording = await beginRecording(kit, run, { root, snapshot: known });
    if (recording !== null) undo.push(() => recording.close());
    return { root, snapshot, baseline, recording, close };
  } catch (error) {
    close();
    if (error instanceof CodedError) throw error;
    // Boundary: without copies nothing could be restored, so where that was asked the command does not start.
    if (run.isKept) throw unreadable(run.terms.workspace, error);
    return null;
  }
}

async function beginRecording(
  { recordings, starterOf, launcher }: LookKit,
  { held, terms, recorded }: Beginning,
  seen: Pick<Before, 'root' | 'snapshot'>,
): Promise<Recorded | null> {
  if (recordings == null || recorded == null) return null;
  const { id, tenant, principal } = recorded;
  const { workspace, argv, executable } = terms;
  const command = basename(argv[0] ?? executable);
  const who = { id, tenant, principal: formatPrincipal(principal), command, workspace };
  return recordings.begin({ ...who, starter: starterOf(launcher), held, ...seen });
}

function unreadable(workspace: string, error: unknown): CodedError {
  const code = (error as { code?: string }).code ?? 'an error';
  return new CodedError(
    'tier/unenforceable',
    `Cannot protect the files of "${workspace}": reading it failed with ${code}, expected a directory that can be read`,
    {
      remedy: `Let the user of palisade read it: \`chmod u+rwx "${workspace}"\`, or choose another workspace.`,
    },
  );
}

/** Boundary: a run of another gateway, or around or in this workspace, may have planted what was read. */
function newBaseline({ leftRuns, baselines }: LookKit, run: Beginning, own: Baseline): Baseline {
  const { held, isKept, terms } = run;
  const same = isKept ? leftRuns?.baselineIn(held) : null;
  if (same != null) return same;
  const others = [...baselines.others(held), ...(leftRuns?.othersAround(held, terms.workspace) ?? [])];
  return shareBaseline(own, terms.workspace, others);
}

function keepRun(
  { leftRuns, starterOf, launcher }: LookKit,
  { held, terms, id }: Beginning,
  { baseline, nowMs: takenMs }: { readonly baseline: Baseline; readonly nowMs: number },
): () => void {
  const { workspace, allowedWrites: allowed } = terms;
  const { identity, born } = held;
  const starter = starterOf(launcher);
  const run = { call: id, workspace, identity, born, allowed, starter, takenMs, baseline };
  return leftRuns?.keep(run) ?? (() => undefined);
}

/** Compares the workspace with what it was, and takes back what was written to protected files. */
export async function lookAfter(kit: LookKit, ended: Ended): Promise<LeftBehind> {
  const { before, terms, isKept } = ended;
  const isOver = await hasEnded(ended);
  const after = before === null ? null : await snapshotAfter(before, terms, isKept).catch(() => null);
  if (before === null || after === null) {
    return {
      output: { changes: [], findings: [told(UNSEEN)], workspaceSeen: 'not at all' },
      isolation: factsOf('not held', 0, terms),
    };
  }
  const { workspace, allowedWrites: allowed } = terms;
  const keep = quarantineOf(kit.quarantine, ended.id);
  const { root, baseline } = before;
  const aside = await setAside({ root, workspace, baseline, allowed, mayChange: isKept, keep }, after);
  const changes = diffSnapshots(before.snapshot, after).filter(({ path }) => !aside.undone.has(path));
  const all = [...aside.findings, ...(isOver ? [] : [UNENDED]), ...findingsIn(changes, after, workspace)];
  const isWhole = before.snapshot.complete && after.complete;
  const isHeld = isWhole && !all.some(({ why }) => why === 'not-held' || why === 'link-unjudged');
  const listed = firstOf(changes, MOST_CHANGES);
  const findings = firstOf(all, MOST_FINDINGS);
  const isCompared = isWhole && !before.snapshot.isSparse && !after.isSparse;
  const undo = await before.recording?.finish(after, changes, isCompared);
  return {
    output: {
      changes: listed.items.map(({ path, change, kind }) => ({ path, change, kind })),
      ...(listed.more > 0 ? { moreChanges: listed.more } : {}),
      findings: findings.items.map(told),
      ...(findings.more > 0 ? { moreFindings: findings.more } : {}),
      workspaceSeen: isCompared ? 'whole' : 'in part',
      ...undo?.output,
    },
    isolation: {
      ...factsOf(isKept ? (isHeld ? 'held' : 'in part') : 'not held', aside.count, terms),
      ...undo?.isolation,
    },
  };
}

/** A directory that the run has closed is opened again; one that was closed before stays so. */
function snapshotAfter(
  { root, snapshot, baseline }: Before,
  { workspace }: ProcessTerms,
  isKept: boolean,
): Promise<Snapshot> {
  const unlocks = (path: string, { ctimeNs }: { readonly ctimeNs: bigint }) =>
    isKept && snapshot.entries.get(path)?.ctimeNs !== ctimeNs;
  return takeProtectedSnapshot(root, { workspace, baseline, unlocks });
}

/** Boundary: nothing is restored while a process of the run could write it again. */
async function hasEnded({ end, status, ready }: Ended): Promise<boolean> {
  if (end.spawnError !== null || status?.done === true) return true;
  if (status !== null && status.pid === null && status.failed !== null) return true;
  return (await ready.sandbox.group?.kill()) === true;
}

function factsOf(
  held: string,
  setAsideCount: number,
  { allowedWrites }: ProcessTerms,
): Execution['isolation'] {
  return {
    protected_files: held,
    ...(setAsideCount > 0 ? { set_aside: setAsideCount } : {}),
    ...(allowedWrites.length > 0 ? { allowed_writes: allowedWrites.join(',') } : {}),
  };
}

function told({ path, why, severity, sentence }: Finding): Json {
  return { path, why, severity, sentence };
}
