/**
 * What an undo has to do, decided before anything is touched. Pure: it compares, for each name that a command changed,
 * the state before the command, the state that it left and the present one. A name that is not as the command left it
 * was changed by someone else since then; it is a conflict and stays, unless the caller insists.
 */
import type { Entry, EntryKind } from '../workspace/names.ts';
import { isSameButLinks, isSameState } from './copies.ts';
import type { UndoRecord } from './records.ts';
import type { Pointer, TreeRow } from './tree.ts';

/** `restore`: its former state replaces it; `recreate`: it is missing; `remove`: the command made it; `mode`: as it says. */
export type UndoAct = 'restore' | 'recreate' | 'remove' | 'mode';

export type Step = {
  readonly path: string;
  readonly act: UndoAct;
  /** What is there now; null: nothing. */
  readonly present: Entry | null;
  /** What is to be there; null: nothing. */
  readonly goal: Entry | null;
  readonly pointer: Pointer | null;
};

/** A name that is left as it is, and why. */
export type Left = { readonly path: string; readonly why: string };

export type UndoPlan = {
  readonly steps: readonly Step[];
  readonly conflicts: readonly Left[];
  /** What cannot be restored, as there is no copy of it. */
  readonly missing: readonly Left[];
  /** How many names are already as they were before the command. */
  readonly done: number;
};

/** The present state of the workspace, as far as the plan asks. */
export type Present = {
  readonly entry: (path: string) => Entry | null;
  /** The names in a directory; null where it cannot be read. */
  readonly names: (path: string) => readonly string[] | null;
  /** Whether a file has the content that a pointer leads to. */
  readonly hasContent: (present: Entry, pointer: Pointer, size: number) => boolean;
};

/** The mode of a directory while an undo works in it. */
export const OWNER_ALL = 0o700;
export const CHANGED_SINCE = 'it was changed after the command';
const NOT_EMPTY = 'it has names that the command did not make';
const PLANTED = 'it is a protected file, which another run was writing when the command began';
const NO_COPY = 'there is no copy of it from before the command';

type Judged = { readonly step?: Step; readonly conflict?: string; readonly missing?: string };

export function planUndo(
  { before, after }: Pick<UndoRecord, 'before' | 'after'>,
  present: Present,
  isForced: boolean,
): UndoPlan {
  const paths = [...new Set([...before.paths, ...after.paths])].sort();
  const steps: Step[] = [];
  const conflicts: Left[] = [];
  const missing: Left[] = [];
  let done = 0;
  for (const path of paths) {
    const judged = judge({ former: before.find(path), left: after.find(path), path }, present, isForced);
    if (judged === null) done += 1;
    if (judged?.step !== undefined) steps.push(judged.step);
    if (judged?.conflict !== undefined) conflicts.push({ path, why: judged.conflict });
    if (judged?.missing !== undefined) missing.push({ path, why: judged.missing });
  }
  return withoutFullDirectories({ steps, conflicts, missing, done }, present);
}

type Name = { readonly path: string; readonly former: TreeRow | null; readonly left: TreeRow | null };

/** Null where the name is as it was before the command. */
function judge({ path, former, left }: Name, present: Present, isForced: boolean): Judged | null {
  const now = present.entry(path);
  if (isAsBefore(former, now, present)) return null;
  if (path === '.') return { missing: 'the mode of the workspace itself is left as it is' };
  const goal = former?.entry ?? null;
  const isExpected = isAsLeft(left, now, present) || (left === null && isHalfMade(goal, now));
  if (!isExpected && !isForced) return { conflict: CHANGED_SINCE };
  const pointer = former?.pointer ?? null;
  const act = actOf(goal, now);
  const step: Step = { path, act, present: now, goal, pointer };
  if (goal === null || ['directory', 'symlink'].includes(goal.kind) || act === 'mode') return { step };
  if (goal.kind === 'unknown') return { missing: PLANTED };
  if (goal.kind !== 'file') return { missing: `a ${nounOf(goal.kind)} cannot be made again` };
  return pointer === null ? { missing: NO_COPY } : { step };
}

function actOf(goal: Entry | null, now: Entry | null): UndoAct {
  if (goal === null) return 'remove';
  if (now === null) return 'recreate';
  return isOnlyMode(goal, now) ? 'mode' : 'restore';
}

/** Only the mode or the owner differs, and no other name has the same file. */
function isOnlyMode(goal: Entry, now: Entry): boolean {
  if (goal.kind !== now.kind) return false;
  if (goal.kind === 'directory') return true;
  const isSame = goal.ino === now.ino && goal.size === now.size && goal.mtimeNs === now.mtimeNs;
  const isReowned = goal.mode !== now.mode || goal.uid !== now.uid || goal.gid !== now.gid;
  return goal.kind === 'file' && isSame && isReowned && now.nlink === 1;
}

function isAsLeft(left: TreeRow | null, now: Entry | null, present: Present): boolean {
  if (left === null || now === null) return left === null && now === null;
  const { entry, pointer } = left;
  // The times of a directory tell of its names, which are compared themselves.
  if (entry.kind === 'directory')
    return now.kind === 'directory' && [entry.mode, entry.mode | OWNER_ALL].includes(now.mode);
  if (isSameButLinks(entry, now)) return true;
  // The end of an undo that was killed is known by content.
  return pointer !== null && isAsBefore(left, now, present);
}

/** A directory as a killed undo leaves it: it gets its mode last. */
function isHalfMade(goal: Entry | null, now: Entry | null): boolean {
  return goal?.kind === 'directory' && now?.kind === 'directory' && now.mode === OWNER_ALL;
}

function isAsBefore(then: TreeRow | null, now: Entry | null, present: Present): boolean {
  if (then === null || now === null) return then === null && now === null;
  const { entry, pointer } = then;
  if (entry.kind !== now.kind) return false;
  if (entry.kind === 'symlink') return entry.target === now.target;
  // setuid and setgid of a file do not come back.
  const mask = entry.kind === 'file' ? 0o1777 : 0o7777;
  if (((entry.mode ^ now.mode) & mask) !== 0 || entry.uid !== now.uid || entry.gid !== now.gid) return false;
  if (entry.kind === 'directory') return true;
  if (isSameState(entry, now)) return true;
  return pointer !== null && entry.size === now.size && present.hasContent(now, pointer, entry.size);
}

/** Boundary: a directory that has anything else in it is not removed, whatever the caller insists on. */
function withoutFullDirectories(plan: UndoPlan, present: Present): UndoPlan {
  const goes = (step: Step) => step.present?.kind === 'directory' && step.goal?.kind !== 'directory';
  const removed = new Set(plan.steps.filter((step) => step.goal === null).map(({ path }) => path));
  const full = new Set<string>();
  // The deepest first: a directory stays where one in it stays.
  for (const step of [...plan.steps].filter(goes).reverse()) {
    const names = present.names(step.path);
    const isFull = names === null || names.some((name) => !removed.has(`${step.path}/${name}`));
    if (!isFull) continue;
    full.add(step.path);
    removed.delete(step.path);
  }
  if (full.size === 0) return plan;
  return {
    ...plan,
    steps: plan.steps.filter(({ path }) => !full.has(path)),
    conflicts: [...plan.conflicts, ...[...full].map((path) => ({ path, why: NOT_EMPTY }))],
  };
}

function nounOf(kind: EntryKind): string {
  return kind === 'fifo' ? 'named pipe' : kind.replace('-', ' ');
}
