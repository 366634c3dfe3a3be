/**
 * The contents of a workspace, read without touching them. The input is a directory that hostile code has written to
 * and may still be writing to; nothing in it is trusted, neither names nor kinds nor that anything stays in place. The
 * walk reads names and lstat, opens directories only, each relative to its open parent, and skips mounts. It never
 * opens a file, follows a link or throws for what it finds: what it could not see is a gap, and a snapshot with a gap
 * says that it is not complete. Paths are relative to the workspace and written as `nameText` does.
 */
import type { Dirent } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HeldDirectory, isSameFile } from './held-directory.ts';
import { type Entry, entryIn, entryOf, nameText, pathIn } from './names.ts';

/**
 * Why a directory, or the facts of one name, are not in a snapshot. `too-large`: the bound of names was reached; `too-deep`:
 * its path is longer than any program can open; `another-device`: something is mounted there; `unreadable`: the system
 * refused; `moved`: it changed during the walk.
 */
type GapReason = 'too-large' | 'too-deep' | 'another-device' | 'unreadable' | 'moved';

type Gap = { readonly path: string; readonly why: GapReason };

export type Snapshot = {
  /** Every name that was seen, by its path; the workspace itself is `.`. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** Everything that was not seen: directories whose names are not, or not all, among the entries. */
  readonly gaps: readonly Gap[];
  readonly complete: boolean;
  /** Names that do not matter were left out, as there are too many. */
  readonly isSparse: boolean;
};

type SnapshotBounds = {
  /** How many names are remembered with their facts; of the rest only those that matter. */
  readonly maxEntries: number;
  /** How many names are read at all. */
  readonly maxNames?: number;
};

type SnapshotOptions = {
  /** Whether a name is remembered beyond the bound, too. Directories and links are. */
  readonly matters?: (path: string) => boolean;
  /** Whether a directory that cannot be opened is made readable for its owner. */
  readonly unlocks?: (path: string, facts: Entry) => boolean;
};

/** For tests: called before a directory is opened, where a race would happen. */
type WalkWatch = { readonly beforeEntering: (path: string) => void };

/** Linux opens no longer path (PATH_MAX). */
const MAX_PATH_CHARS = 4096;

/** The mean amount of text per entry; the paths of node_modules have about 90 characters. */
const MEAN_TEXT_CHARS = 256;

/** How many directories on the way down stay open; the others are reopened through `..`. */
const MAX_HELD = 64;

/** The walk yields after this many entries: about 2 ms. */
const ENTRIES_PER_TURN = 256;

const NO_WATCH: WalkWatch = { beforeEntering: () => undefined };

type Pending = { readonly name: Buffer; readonly path: string; readonly facts: Entry };
type Frame = {
  held: HeldDirectory | null;
  readonly path: string;
  readonly facts: Entry;
  readonly pending: Pending[];
};
type Walk = {
  readonly entries: Map<string, Entry>;
  readonly gaps: Gap[];
  readonly maxEntries: number;
  readonly maxNames: number;
  readonly options: SnapshotOptions;
  readonly stack: Frame[];
  readonly watch: WalkWatch;
  seen: number;
  charsLeft: number;
  /** What is left of the text when plain names are no longer remembered. */
  readonly reserveChars: number;
  isSparse: boolean;
  full: boolean;
};

/** Reads every name in the workspace; throws only when the workspace itself cannot be opened. */
export async function takeSnapshot(
  workspace: string | HeldDirectory,
  bounds: SnapshotBounds,
  watch: WalkWatch = NO_WATCH,
  options: SnapshotOptions = {},
): Promise<Snapshot> {
  const root = typeof workspace === 'string' ? HeldDirectory.open(workspace) : workspace;
  const facts = entryOf('.', root.stat(), null);
  const { maxEntries, maxNames = maxEntries } = bounds;
  const charsLeft = 16 * MAX_PATH_CHARS + maxEntries * MEAN_TEXT_CHARS;
  const entries = new Map([['.', facts]]);
  const stack: Frame[] = [{ held: root, path: '', facts, pending: [] }];
  const reserveChars = options.matters === undefined ? 0 : charsLeft / 2;
  const counts = { seen: 0, charsLeft, reserveChars, isSparse: false, full: false };
  const walk: Walk = { entries, gaps: [], maxEntries, maxNames, options, stack, watch, ...counts };
  try {
    await listNames(walk, stack[0] as Frame);
    await descend(walk);
  } finally {
    for (const { held } of stack) held?.close();
  }
  return { entries, gaps: walk.gaps, complete: walk.gaps.length === 0, isSparse: walk.isSparse };
}

async function descend(walk: Walk): Promise<void> {
  const { stack } = walk;
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const next = frame.pending.pop();
    if (next === undefined) {
      leave(walk);
      continue;
    }
    const held = walk.full ? noteGap(walk, next.path, 'too-large') : enter(walk, frame, next);
    if (held === null) continue;
    const { path, facts } = next;
    stack.push({ held, path, facts, pending: [] });
    const distant = stack.at(-1 - MAX_HELD);
    distant?.held?.close();
    if (distant !== undefined) distant.held = null;
    await listNames(walk, stack.at(-1) as Frame);
  }
}

function enter(walk: Walk, frame: Frame, { name, path, facts }: Pending): HeldDirectory | null {
  const root = walk.stack[0]?.facts;
  // Boundary: what is mounted in the workspace does not belong to it.
  if (facts.dev !== root?.dev) return noteGap(walk, path, 'another-device');
  if (path.length > MAX_PATH_CHARS) return noteGap(walk, path, 'too-deep');
  if (frame.held === null) return noteGap(walk, path, 'moved');
  walk.watch.beforeEntering(path);
  try {
    const held = openChild(walk, frame.held, { name, path, facts });
    // Boundary: a directory that has replaced the one we saw is not read under its name.
    if (isSameFile(held.stat(), facts)) return held;
    held.close();
    return noteGap(walk, path, 'moved');
  } catch (error) {
    return noteGap(walk, path, reasonOf(error));
  }
}

function openChild(walk: Walk, parent: HeldDirectory, { name, path, facts }: Pending): HeldDirectory {
  try {
    return openSearchable(parent, name);
  } catch (error) {
    const isClosed = (error as { code?: string }).code === 'EACCES';
    if (!isClosed || walk.options.unlocks?.(path, facts) !== true) throw error;
    parent.unlockChild(name);
    return openSearchable(parent, name);
  }
}

/** Boundary: a directory that tells its names and nothing about them counts as closed. */
function openSearchable(parent: HeldDirectory, name: Buffer): HeldDirectory {
  const held = parent.child(name);
  try {
    held.lstat(Buffer.from('.'));
    return held;
  } catch (error) {
    held.close();
    throw error;
  }
}

/** Returns to the parent directory, which may have to be reopened. */
function leave({ stack }: Walk): void {
  const left = stack.pop();
  const above = stack.at(-1);
  if (above !== undefined && above.held === null) above.held = findAgain(left?.held ?? null, above.facts);
  left?.held?.close();
}

function findAgain(below: HeldDirectory | null, facts: Entry): HeldDirectory | null {
  try {
    const held = below?.parent() ?? null;
    // Boundary: a directory that was moved in the meantime has another parent, perhaps outside.
    if (held === null || isSameFile(held.stat(), facts)) return held;
    held.close();
  } catch {
    // It is gone; its unread contents become gaps.
  }
  return null;
}

/** Notes every name in a directory, and which of them are directories to descend into. */
async function listNames(walk: Walk, frame: Frame): Promise<void> {
  const { held, path } = frame;
  if (held === null) return;
  try {
    const names = held.list();
    try {
      for (let next = names.readSync(); next !== null && !walk.full; next = names.readSync()) {
        noteName(walk, held, frame, next);
        if (walk.seen % ENTRIES_PER_TURN === 0) await nextTurn();
      }
    } finally {
      names.closeSync();
    }
    if (walk.full) noteGap(walk, path === '' ? '.' : path, 'too-large');
    // Boundary: what matters is entered first, before other names can use up the bounds.
    const { matters = () => false } = walk.options;
    frame.pending.sort((a, b) => Number(matters(a.path)) - Number(matters(b.path)));
  } catch (error) {
    noteGap(walk, path === '' ? '.' : path, reasonOf(error));
  }
}

function noteName(walk: Walk, held: HeldDirectory, frame: Frame, next: Dirent): void {
  const name = next.name as unknown as Buffer;
  const path = pathIn(frame.path, nameText(name));
  walk.seen += 1;
  const isOver = walk.seen > walk.maxEntries || walk.charsLeft < walk.reserveChars;
  const isPlain = isOver && next.isFile() && walk.options.matters?.(path) !== true;
  walk.isSparse ||= isOver;
  // Bytes, as escaped text is four times as long.
  if (!isPlain) walk.charsLeft -= frame.path.length + name.length + 1;
  // Boundary: neither many names nor long ones fill the gateway's memory.
  walk.full = walk.seen > walk.maxNames || walk.charsLeft < 0;
  if (walk.full || isPlain) return;
  try {
    const facts = entryIn(path)(held, name);
    if (facts === undefined) return;
    walk.charsLeft -= facts.target?.length ?? 0;
    walk.entries.set(path, facts);
    if (facts.kind === 'directory') frame.pending.push({ name, path, facts });
  } catch (error) {
    noteGap(walk, path, reasonOf(error));
  }
}

function noteGap(walk: Walk, path: string, why: GapReason): null {
  walk.gaps.push({ path, why });
  return null;
}

function reasonOf(error: unknown): GapReason {
  const { code } = error as { code?: string };
  const moved = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ESTALE'];
  return code !== undefined && moved.includes(code) ? 'moved' : 'unreadable';
}
