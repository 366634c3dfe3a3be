/**
 * Sees what changes in the folder of a skill, by looking at its files again and again: that needs no right, works on
 * every file system, follows no link, and shows when the folder is gone.
 */
import { type BigIntStats, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CodedError } from '../../../core/coded-error.ts';
import { orElse } from '../../../core/result.ts';

/** The files of a folder by their paths, each with what changes when its content does. */
export type FolderState = ReadonlyMap<string, string>;

export type WatchedFolder = {
  readonly look: () => FolderState;
  /** Resolves with the next state that differs and lasts, or with null when the signal fires. */
  readonly next: (seen: FolderState, signal: AbortSignal) => Promise<FolderState | null>;
};

const MOST_FILES = 4096;
const MOST_DEEP = 16;
const LOOK_EVERY_MS = 40;
/** Editors write in several steps; what stays the same for this long is read. */
const SETTLE_MS = 15;
const MOST_SETTLING = 20;
/** What no build reads: hidden files, installed packages, packages of skills and keys. */
const NEVER = /^\.|^node_modules$|\.skill$|\.key$/;

/** Watches a folder; `isOurs` names the files that are written here. */
export function watchFolder(
  folder: string,
  isOurs: (path: string) => boolean,
  mostFiles = MOST_FILES,
): WatchedFolder {
  const identity = identityOf(folder);
  const look = (): FolderState => {
    // Boundary: another folder under the same name is not the one that was meant.
    if (identity === null || identityOf(folder) !== identity) throw gone(folder);
    return stateOf(folder, isOurs, mostFiles);
  };
  return {
    look,
    next: async (seen, signal) => {
      while (await wait(LOOK_EVERY_MS, signal)) {
        const now = look();
        if (changedFiles(seen, now).length > 0) return settled(look, now, signal);
      }
      return null;
    },
  };
}

/** The paths of the files that are new, other or gone, in order. */
export function changedFiles(before: FolderState, after: FolderState): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}

async function settled(look: () => FolderState, first: FolderState, signal: AbortSignal) {
  let last = first;
  for (let tries = 0; tries < MOST_SETTLING; tries += 1) {
    if (!(await wait(SETTLE_MS, signal))) return null;
    const now = look();
    if (changedFiles(last, now).length === 0) break;
    last = now;
  }
  return last;
}

/** False where the signal fired. */
async function wait(ms: number, signal: AbortSignal): Promise<boolean> {
  return pause(ms, true, { signal }).catch(() => false);
}

function identityOf(folder: string): string | null {
  const stats = orElse(() => lstatSync(folder), null);
  return stats?.isDirectory() === true ? `${stats.dev}:${stats.ino}` : null;
}

function gone(folder: string): CodedError {
  return new CodedError(
    'skill/build-failed',
    `Cannot watch "${folder}": it is gone, expected the folder of a skill`,
    {
      remedy: 'Start `palisade skill dev` again in the folder of the skill.',
    },
  );
}

function stateOf(folder: string, isOurs: (path: string) => boolean, mostFiles: number): FolderState {
  const state = new Map<string, string>();
  const visit = (path: string, depth: number): void => {
    // What vanishes while it is looked at is seen to be gone the next time.
    for (const entry of orElse(() => readdirSync(join(folder, path), { withFileTypes: true }), [])) {
      if (NEVER.test(entry.name)) continue;
      const child = path === '' ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory() && depth < MOST_DEEP) visit(child, depth + 1);
      else if (!entry.isDirectory() && !isOurs(child)) state.set(child, markOf(join(folder, child)));
      if (state.size > mostFiles) throw tooMany(folder, mostFiles);
    }
  };
  visit('', 1);
  return state;
}

/** Boundary: a link is looked at, never through. */
function markOf(path: string): string {
  const stats: BigIntStats | null = orElse(() => lstatSync(path, { bigint: true }), null);
  return stats === null ? '' : [stats.mode, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
}

function tooMany(folder: string, most: number): CodedError {
  const message = `Cannot watch "${folder}": it has more than ${most} files, expected those of one skill`;
  return new CodedError('skill/invalid-package', message, { remedy: 'Name the folder of the skill itself.' });
}
