/**
 * The protected files of a workspace as they were before a run, with their contents: what they are restored from. Runs
 * that overlap in one workspace share the oldest baseline, so that none of them takes what another one has planted for
 * the state before.
 */
import type { ProtectedName } from '../../core/protected.table.ts';
import { parseGitConfig } from './git-config.ts';
import { HeldDirectory } from './held-directory.ts';
import { resolveInside } from './judge.ts';
import { baseOf, nameBytes, parentOf } from './names.ts';
import { mayMatter, type ProtectedHints, protectedIn } from './protected.ts';
import { type Entry, type Snapshot, takeSnapshot } from './snapshot.ts';

/** One protected name before the run. */
export type Copy = {
  readonly entry: Entry;
  readonly row: ProtectedName;
  /** Null where it is not a file, or too large to be kept. */
  readonly bytes: Buffer | null;
  /** It was changed just before: its times cannot tell whether it changed again. */
  readonly isFresh: boolean;
};

export type Baseline = {
  readonly copies: ReadonlyMap<string, Copy>;
  readonly hints: ProtectedHints;
  /** The directories that git took for a repository, as they were. */
  readonly repositories: readonly Entry[];
};

/** Names with their facts, names at all: a list of changes needs the first, protection the second. */
export const BOUNDS = { maxEntries: 50_000, maxNames: 1_000_000 };

/** No file of the table comes near these. */
export const MAX_FILE_BYTES = 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;

/** The times of a file advance in steps, of 10 ms at most. */
export const FRESH_MS = 100;

type Unlocks = (path: string, facts: { readonly ctimeNs: bigint }) => boolean;

/** A snapshot with every name that can be protected, however large the workspace is. */
export function takeProtectedSnapshot(
  root: HeldDirectory,
  unlocks: Unlocks = () => false,
): Promise<Snapshot> {
  return takeSnapshot(HeldDirectory.of(root.fd), BOUNDS, undefined, { matters: mayMatter, unlocks });
}

/** Copies the protected files of a snapshot. */
export function readBaseline(
  root: HeldDirectory,
  snapshot: Snapshot,
  { workspace, nowMs }: { readonly workspace: string; readonly nowMs: number },
): Baseline {
  const copies = new Map<string, Copy>();
  let left = MAX_BYTES;
  const copyAll = (hints: ProtectedHints) => {
    const { rows, repositories } = protectedIn(snapshot, workspace, hints);
    for (const [path, row] of rows) {
      const entry = snapshot.entries.get(path);
      if (entry === undefined || copies.has(path)) continue;
      const bytes = entry.kind === 'file' ? readIn(root, path, Math.min(left, MAX_FILE_BYTES)) : null;
      left -= bytes?.length ?? 0;
      const isFresh = Number(entry.ctimeNs / 1_000_000n) > nowMs - FRESH_MS;
      copies.set(path, { entry, row, bytes, isFresh });
    }
    return [...repositories].flatMap((path) => snapshot.entries.get(path === '' ? '.' : path) ?? []);
  };
  const repositories = copyAll(new Map());
  const hints = hintsIn(copies, workspace);
  if (hints.size > 0) copyAll(hints);
  return { copies, hints, repositories };
}

/** The hooks and configuration that git is already sent to, by what is configured before the run. */
function hintsIn(copies: ReadonlyMap<string, Copy>, workspace: string): ProtectedHints {
  const hints = new Map<string, ProtectedName>();
  for (const [path, { row, bytes }] of copies) {
    if (row !== 'git-config' || bytes === null) continue;
    for (const { name, value } of parseGitConfig(bytes.toString('latin1')) ?? []) {
      const directory = parentOf(path);
      // Git takes hooksPath relative to where hooks run, which is the work tree.
      const from =
        name === 'core.hookspath' && baseOf(directory) === '.git' ? parentOf(directory) : directory;
      const inside = resolveInside(from, value, workspace);
      if (inside === null || inside === '') continue;
      if (name === 'core.hookspath') hints.set(inside, 'git-hooks');
      if (/^include(?:if\..*)?\.path$/s.test(name)) hints.set(inside, 'git-config');
    }
  }
  return hints;
}

/** Does something with the open directory that a path is in; null where there is no such directory any more. */
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

/** What the runs of a workspace share: the baseline of the first of them, once it is made. */
type SharedBaseline = { baseline: Baseline | null; runs: number };

/** The baselines of runs that have not ended, by workspace. */
export class Baselines {
  readonly #shared = new Map<string, SharedBaseline>();

  /** The baseline that the runs in a workspace share now. */
  of(workspace: string): Baseline | null {
    return this.#shared.get(workspace)?.baseline ?? null;
  }

  /** Joins the runs of a workspace, before anything in it is looked at; the caller leaves at the end. */
  enter(workspace: string): SharedBaseline {
    const shared = this.#shared.get(workspace) ?? { baseline: null, runs: 0 };
    shared.runs += 1;
    this.#shared.set(workspace, shared);
    return shared;
  }

  leave(workspace: string): void {
    const shared = this.#shared.get(workspace);
    if (shared === undefined) return;
    shared.runs -= 1;
    if (shared.runs === 0) this.#shared.delete(workspace);
  }
}
