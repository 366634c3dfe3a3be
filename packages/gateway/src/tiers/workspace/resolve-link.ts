/**
 * Where symbolic links lead, worked out over a snapshot as the kernel would, without asking the kernel: a link that
 * leaves the workspace is not looked at any further, wherever it would come back.
 */
import type { Snapshot } from './entry.ts';
import { nameText, parentOf, pathIn } from './names.ts';

/** `unseen`: it passes a part that the snapshot has not; `unjudged`: the work for all links was used up. */
export type LinkVerdict = 'inside' | 'outside' | 'loop' | 'unseen' | 'unjudged';

export type ResolvedLink = {
  readonly verdict: LinkVerdict;
  /** The path that it leads to, when it is inside. */
  readonly to: string;
  /** Whether anything on the way, the link itself included, is among the changed paths. */
  readonly touched: boolean;
};

/** Linux gives up after as many. */
const MAX_HOPS = 40;

/** How many characters of paths may be looked up for all links together: some hundred milliseconds. */
const WORK_CHARS = 32 * 1024 * 1024;

type Way = { at: string; pending: string[]; hops: number; touched: boolean };

/** Resolves every link of the snapshot. */
export function resolveLinks(
  snapshot: Snapshot,
  workspace: string,
  changed: ReadonlySet<string>,
  workChars = WORK_CHARS,
): Map<string, ResolvedLink> {
  const root = namesOf(nameText(Buffer.from(workspace)));
  const resolved = new Map<string, ResolvedLink>();
  let left = workChars;
  const resolve = (path: string): ResolvedLink => {
    const way: Way = { at: path, pending: [], hops: 0, touched: false };
    const verdict = follow(way, path) ?? walkOn(way);
    return { verdict, to: way.at, touched: way.touched };
  };
  const walkOn = (way: Way): LinkVerdict => {
    for (let name = way.pending.pop(); name !== undefined; name = way.pending.pop()) {
      const ended = name === '..' ? goUp(way) : step(way, pathIn(way.at, name));
      if (ended !== null) return ended;
    }
    return 'inside';
  };
  const step = (way: Way, path: string): LinkVerdict | null => {
    left -= path.length;
    if (left < 0) return 'unjudged';
    const entry = snapshot.entries.get(path);
    if (entry?.kind === 'symlink') return follow(way, path);
    if (entry === undefined && !snapshot.complete) return 'unseen';
    way.touched ||= changed.has(path);
    way.at = path;
    return null;
  };
  const follow = (way: Way, path: string): LinkVerdict | null => {
    const target = snapshot.entries.get(path)?.target ?? '';
    way.touched ||= changed.has(path);
    way.hops += 1;
    left -= target.length;
    // Boundary: links to links to long paths cost a bounded amount of work, and are never passed as harmless.
    if (left < 0) return 'unjudged';
    if (way.hops > MAX_HOPS) return 'loop';
    const names = namesOf(target);
    way.at = parentOf(path);
    if (target.startsWith('/')) {
      // Boundary: an absolute target is inside only if it is spelled as the workspace is.
      if (root.some((name, index) => names[index] !== name)) return 'outside';
      names.splice(0, root.length);
      way.at = '';
    }
    for (const name of names.reverse()) way.pending.push(name);
    return null;
  };
  for (const { path, kind } of snapshot.entries.values()) {
    if (kind === 'symlink') resolved.set(path, resolve(path));
  }
  return resolved;
}

/** Boundary: one step above the workspace is outside, even if the next one would come back. */
function goUp(way: Way): LinkVerdict | null {
  if (way.at === '') return 'outside';
  way.at = parentOf(way.at);
  return null;
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}
