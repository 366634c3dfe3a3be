/**
 * The contents of a workspace, read without touching them. The input is a directory that hostile code has written to
 * and may still be writing to; nothing in it is trusted, neither names nor kinds nor that anything stays in place. The
 * walk reads names and lstat, opens directories only, each relative to its open parent, and skips mounts. It never
 * opens a file, follows a link or throws for what it finds: what it could not see is a gap, and a snapshot with a gap
 * says that it is not complete. Paths are relative to the workspace and written as `nameText` does.
 */
import type { BigIntStats, Dirent } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HeldDirectory, isSameFile } from './held-directory.ts';
import { nameText, pathIn } from './names.ts';

/** The kinds of names, and the question that tells each. */
const KINDS = {
  file: 'isFile',
  directory: 'isDirectory',
  symlink: 'isSymbolicLink',
  fifo: 'isFIFO',
  socket: 'isSocket',
  'block-device': 'isBlockDevice',
  'character-device': 'isCharacterDevice',
} as const;
const KIND_NAMES = Object.keys(KINDS) as (keyof typeof KINDS)[];

export const ENTRY_KINDS = [...KIND_NAMES, 'unknown'] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** The lstat of one name. */
export type Entry = {
  readonly path: string;
  readonly kind: EntryKind;
  /** The permission bits, with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: number;
  /** Where a symbolic link points, as it is written there; null for everything else. */
  readonly target: string | null;
};

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
  readonly unlocks?: (path: string, facts: BigIntStats) => boolean;
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

type Pending = { readonly name: Buffer; readonly path: string; readonly facts: BigIntStats };
type Frame = {
  held: HeldDirectory | null;
  readonly path: string;
  readonly facts: BigIntStats;
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
  const facts = root.stat();
  const { maxEntries, maxNames = maxEntries } = bounds;
  const charsLeft = 16 * MAX_PATH_CHARS + maxEntries * MEAN_TEXT_CHARS;
  const entries = new Map([['.', entryOf('.', facts, null)]]);
  const stack: Frame[] = [{ held: root, path: '', facts, pending: [] }];
  const counts = { seen: 0, charsLeft, full: false };
  const walk: Walk = { entries, gaps: [], maxEntries, maxNames, options, stack, watch, ...counts };
  try {
    await listNames(walk, stack[0] as Frame);
    await descend(walk);
  } finally {
    for (const { held } of stack) held?.close();
  }
  const isSparse = walk.seen > maxEntries;
  return { entries, gaps: walk.gaps, complete: walk.gaps.length === 0, isSparse };
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
    return parent.child(name);
  } catch (error) {
    const isClosed = (error as { code?: string }).code === 'EACCES';
    if (!isClosed || walk.options.unlocks?.(path, facts) !== true) throw error;
    parent.unlockChild(name);
    return parent.child(name);
  }
}

/** Returns to the parent directory, which may have to be reopened. */
function leave({ stack }: Walk): void {
  const left = stack.pop();
  const above = stack.at(-1);
  if (above !== undefined && above.held === null) above.held = findAgain(left?.held ?? null, above.facts);
  left?.held?.close();
}

function findAgain(below: HeldDirectory | null, facts: BigIntStats): HeldDirectory | null {
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
  } catch (error) {
    noteGap(walk, path === '' ? '.' : path, reasonOf(error));
  }
}

function noteName(walk: Walk, held: HeldDirectory, frame: Frame, next: Dirent): void {
  const name = next.name as unknown as Buffer;
  const path = pathIn(frame.path, nameText(name));
  walk.seen += 1;
  const isPlain = walk.seen > walk.maxEntries && next.isFile() && walk.options.matters?.(path) !== true;
  if (!isPlain) walk.charsLeft -= path.length;
  // Boundary: neither many names nor long ones fill the gateway's memory.
  walk.full = walk.seen > walk.maxNames || walk.charsLeft < 0;
  if (walk.full || isPlain) return;
  try {
    const facts = held.lstat(name);
    if (facts === undefined) return;
    const target = facts.isSymbolicLink() ? nameText(held.readlink(name)) : null;
    walk.charsLeft -= target?.length ?? 0;
    walk.entries.set(path, entryOf(path, facts, target));
    if (facts.isDirectory()) frame.pending.push({ name, path, facts });
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

function entryOf(path: string, facts: BigIntStats, target: string | null): Entry {
  return {
    path,
    kind: kindOf(facts),
    mode: Number(facts.mode & 0o7777n),
    uid: Number(facts.uid),
    gid: Number(facts.gid),
    size: Number(facts.size),
    mtimeNs: facts.mtimeNs,
    ctimeNs: facts.ctimeNs,
    dev: facts.dev,
    ino: facts.ino,
    nlink: Number(facts.nlink),
    target,
  };
}

function kindOf(facts: BigIntStats): EntryKind {
  return KIND_NAMES.find((kind) => facts[KINDS[kind]]()) ?? 'unknown';
}
