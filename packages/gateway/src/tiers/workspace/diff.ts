/** The differences between two snapshots. Pure: the file system is not read again. */

import type { Entry, EntryKind } from './entry.ts';
import { isSameFile } from './held-directory.ts';
import { parentOf } from './names.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * One name that has changed. `mode`: only its mode or owner visibly differs (which does not prove that the content is
 * the same). A rename is a removal and an addition.
 */
export type Change = {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed' | 'mode' | 'type';
  /** What it is now, or was before it was removed. */
  readonly kind: EntryKind;
};

/** Lists everything that differs, in the order of the paths. What a gap hides is never reported as removed. */
export function diffSnapshots(before: Snapshot, after: Snapshot): Change[] {
  const changes: Change[] = [];
  const isUnseen = unseenIn(after);
  for (const [path, now] of after.entries) {
    const then = before.entries.get(path);
    // A sparse snapshot lacks names that exist.
    if (then === undefined && before.isSparse) continue;
    const change = then === undefined ? 'added' : compare(then, now);
    if (change !== null) changes.push({ path, change, kind: now.kind });
  }
  for (const [path, { kind }] of before.entries) {
    if (!after.entries.has(path) && !after.isSparse && !isUnseen(path))
      changes.push({ path, change: 'removed', kind });
  }
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The first of them, and how many more there are. */
export function firstOf<T>(items: readonly T[], cap: number): { readonly items: readonly T[]; more: number } {
  return { items: items.slice(0, cap), more: Math.max(0, items.length - cap) };
}

function compare(then: Entry, now: Entry): Change['change'] | null {
  if (then.kind !== now.kind) return 'type';
  if (!isSameFile(then, now)) return 'changed';
  const reowned = then.mode !== now.mode || then.uid !== now.uid || then.gid !== now.gid;
  // The times of a directory reflect its names, and those are compared themselves.
  if (now.kind === 'directory') return reowned ? 'mode' : null;
  const rewritten = then.mtimeNs !== now.mtimeNs || then.size !== now.size || then.target !== now.target;
  if (rewritten) return 'changed';
  if (reowned) return 'mode';
  // Boundary: a program can reset the mtime after a write, but not the ctime.
  return then.ctimeNs === now.ctimeNs ? null : 'changed';
}

/** Whether a path that is not in the snapshot lies in a part that it did not see. */
function unseenIn({ gaps }: Snapshot): (path: string) => boolean {
  const unseen = new Map(gaps.map(({ path }) => [path, true]));
  const isUnseen = (path: string): boolean => {
    // Up to the nearest known directory, then down again, so that no directory is looked up twice.
    const asked: string[] = [];
    let at = path;
    while (at !== '' && !unseen.has(at)) {
      asked.push(at);
      at = parentOf(at);
    }
    const answer = unseen.get(at === '' ? '.' : at) ?? false;
    for (const each of asked) unseen.set(each, answer);
    return answer;
  };
  return gaps.length === 0 ? () => false : isUnseen;
}
