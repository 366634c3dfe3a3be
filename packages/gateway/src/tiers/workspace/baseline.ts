/**
 * The protected files of a workspace as they were before a run, with their contents: what they are restored from.
 */
import { maxBytesOf, type ProtectedName } from '../../core/protected.table.ts';
import { orElse } from '../../core/result.ts';
import { HeldDirectory } from './held-directory.ts';
import {
  type ConfigSource,
  HOOKS,
  hintsIn,
  isBelowRepository,
  outerSources,
  repositorySources,
} from './hints.ts';
import { baseOf, type Entry, entryIn, nameBytes, parentOf, pathIn } from './names.ts';
import {
  homeOf,
  isBelow,
  LITERAL_NAMES,
  mayMatter,
  type ProtectedHints,
  placesThatMatter,
  protectedIn,
  topsIn,
} from './protected.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';

/** One protected name before the run. */
export type Copy = {
  readonly entry: Entry;
  readonly row: ProtectedName;
  /** Null where it is not a file, or too large to be kept. */
  readonly bytes: Buffer | null;
  /** It was changed just before: its times cannot tell whether it changed again. */
  readonly isFresh: boolean;
  /** The directory that it belongs to, and its path from there; empty where there is none. */
  readonly home: string;
};

export type Baseline = {
  readonly copies: ReadonlyMap<string, Copy>;
  readonly hints: ProtectedHints;
  /** The directories that git took for a repository, as they were. */
  readonly repositories: readonly Entry[];
  /** Whether the workspace itself lies in a repository. */
  readonly isInRepository: boolean;
};

/** Names with their facts, names at all: a list of changes needs the first, protection the second. */
export const BOUNDS = { maxEntries: 50_000, maxNames: 1_000_000 };

/** No file of the table comes near these, but an index does: it has a share of its own. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_INDEX_BYTES = 128 * 1024 * 1024;

/** Git follows ten. */
const MAX_INCLUDES = 10;

/** The times of a file advance in steps, of 10 ms at most. */
export const FRESH_MS = 100;

type Unlocks = (path: string, facts: { readonly ctimeNs: bigint }) => boolean;

type Look = {
  readonly workspace: string;
  /** What is protected beyond the names of the table; before a run it is read from what is there. */
  readonly baseline?: Baseline;
  readonly unlocks?: Unlocks;
};

/** A snapshot with every name that can be protected, however large the workspace is. */
export async function takeProtectedSnapshot(root: HeldDirectory, look: Look): Promise<Snapshot> {
  const { workspace, baseline, unlocks = () => false } = look;
  const take = (matters: (path: string) => boolean) =>
    takeSnapshot(HeldDirectory.of(root.fd), BOUNDS, undefined, { matters, unlocks });
  const seen = await take(mayMatter);
  if (!seen.isSparse) return seen;
  const hints = baseline?.hints ?? readBaseline(root, seen, { workspace, nowMs: 0 }).hints;
  // Boundary: a name that means something only by configuration or by a link is not lost among very many.
  const places = placesThatMatter(seen, workspace, hints);
  const all = places.size === 0 ? seen : await take((path) => mayMatter(path) || isBelow(path, places));
  return all.complete ? all : withKnownNames(root, all, baseline);
}

/** Boundary: what a walk did not reach is looked at by its name, where the name is known. */
function withKnownNames(root: HeldDirectory, seen: Snapshot, baseline: Baseline | undefined): Snapshot {
  const entries = new Map(seen.entries);
  const repositories = ['.git', ...(baseline?.repositories ?? []).map(({ path }) => path)];
  const hooks = repositories.flatMap((path) => HOOKS.map((hook) => pathIn(path, `hooks/${hook}`)));
  const tops = new Set(['', ...topsIn(repositories)]);
  const names = [...tops].flatMap((top) => LITERAL_NAMES.map((name) => pathIn(top, name)));
  for (const path of new Set([...(baseline?.copies.keys() ?? []), ...hooks, ...names])) {
    const entry = entries.get(path) ?? orElse(() => inDirectory(root, path, entryIn(path)), undefined);
    if (entry !== undefined) entries.set(path, entry);
  }
  return { ...seen, entries };
}

/** The order in which files are copied, as there is an end to it: what git runs first. */
function rankOf(row: ProtectedName): number {
  return row.startsWith('git-') ? 0 : 1;
}

/** Copies the protected files of a snapshot. */
export function readBaseline(
  root: HeldDirectory,
  snapshot: Snapshot,
  { workspace, nowMs }: { readonly workspace: string; readonly nowMs: number },
): Baseline {
  const copies = new Map<string, Copy>();
  const outer = outerSources(workspace);
  const left = { index: MAX_INDEX_BYTES, other: MAX_BYTES };
  const copyAll = (hints: ProtectedHints) => {
    const { rows, repositories } = protectedIn(snapshot, workspace, hints);
    const ordered = [...rows].sort(([, a], [, b]) => rankOf(a) - rankOf(b));
    for (const [path, row] of ordered) {
      const entry = snapshot.entries.get(path);
      if (entry === undefined) continue;
      const before = copies.get(path);
      const share = row === 'git-index' ? 'index' : 'other';
      const maxBytes = Math.min(left[share], maxBytesOf(row));
      const bytes = before?.bytes ?? (entry.kind === 'file' ? readIfThere(root, path, maxBytes) : null);
      if (bytes === undefined) continue;
      if (before === undefined) left[share] -= bytes?.length ?? 0;
      const isFresh = Number(entry.ctimeNs / 1_000_000n) > nowMs - FRESH_MS;
      const home = homeKey(path, row, { snapshot, repositories });
      copies.set(path, { entry, row, bytes, isFresh, home });
    }
    return [...repositories].flatMap((path) => snapshot.entries.get(path === '' ? '.' : path) ?? []);
  };
  let hints: ProtectedHints = new Map();
  let repositories = copyAll(hints);
  // A configuration that is included may include another one.
  for (let round = 0; round < MAX_INCLUDES; round += 1) {
    const next = hintsIn([...outer, ...sourcesIn(copies, workspace)], snapshot, workspace);
    if (next.size === hints.size) break;
    hints = next;
    repositories = copyAll(hints);
  }
  return { copies, hints, repositories, isInRepository: isBelowRepository(workspace) };
}

/** The configurations of a workspace, each for its work tree; of a worktree whose repository is elsewhere, that one. */
function sourcesIn(copies: ReadonlyMap<string, Copy>, workspace: string): ConfigSource[] {
  const at = (path: string) => (path === '' ? workspace : `${workspace}/${path}`);
  return [...copies].flatMap(([path, { row, bytes, entry }]): readonly ConfigSource[] => {
    const directory = parentOf(path);
    if (row === 'git-layout' && baseOf(path) === '.git' && entry.kind === 'file')
      return repositorySources(at(directory));
    if (row !== 'git-config' || bytes === null) return [];
    const top = baseOf(directory) === '.git' ? parentOf(directory) : directory;
    return [{ bytes, directory: at(directory), top: at(top) }];
  });
}

/** What a protected name has in common with itself before the directory that it belongs to was moved. */
export function homeKey(
  path: string,
  row: ProtectedName,
  { snapshot, repositories }: { readonly snapshot: Snapshot; readonly repositories: ReadonlySet<string> },
): string {
  const home = homeOf(path, row, repositories);
  const facts =
    home === null ? undefined : snapshot.entries.get(home.directory === '' ? '.' : home.directory);
  return home === null || facts === undefined ? '' : `${facts.dev}:${facts.ino} ${home.rest}`;
}

/** Passes the open parent directory of a path, and its last name, to `act`; throws if the directory is gone. */
export function inDirectory<T>(
  root: HeldDirectory,
  path: string,
  act: (held: HeldDirectory, name: Buffer) => T,
): T {
  const names = path.split('/').map(nameBytes);
  let held = HeldDirectory.of(root.fd);
  try {
    for (const name of names.slice(0, -1)) {
      const child = held.child(name);
      held.close();
      held = child;
    }
    return act(held, names.at(-1) ?? Buffer.alloc(0));
  } finally {
    held.close();
  }
}

export function readIn(root: HeldDirectory, path: string, maxBytes: number): Buffer | null {
  return inDirectory(root, path, (held, name) => held.readFile(name, maxBytes));
}

/** The same; undefined where its directory is gone, as when a build or another command clears it at that moment. */
function readIfThere(root: HeldDirectory, path: string, maxBytes: number): Buffer | null | undefined {
  try {
    return readIn(root, path, maxBytes);
  } catch (error) {
    // Boundary: a file that is back after the run has no copy, so it counts as written by the run.
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The snapshot, with protected names that are not as in the baseline as of no known kind. Boundary: what a run at the
 * same time has written there is not a state that an undo leads back to.
 */
export function withoutPlanted(snapshot: Snapshot, workspace: string, baseline: Baseline): Snapshot {
  const entries = new Map(snapshot.entries);
  for (const path of protectedIn(snapshot, workspace, baseline.hints).rows.keys()) {
    const entry = entries.get(path);
    const before = baseline.copies.get(path)?.entry;
    const isSame = before?.ino === entry?.ino && before?.ctimeNs === entry?.ctimeNs;
    if (entry !== undefined && !isSame) entries.set(path, { ...entry, kind: 'unknown', target: null });
  }
  return { ...snapshot, entries };
}
