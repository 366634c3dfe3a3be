/**
 * Where symbolic links lead, resolved over a snapshot as the kernel would, without asking the kernel: a link that
 * leaves the workspace is not followed further, even if it would come back.
 */
import { baseOf, nameText, parentOf, pathIn } from './names.ts';
import type { Snapshot } from './snapshot.ts';

/** `system`: it leads to the system's own programs; `unseen`: it passes through a part that the snapshot lacks; `unjudged`: the work limit for all links was reached. */
export type LinkVerdict = 'inside' | 'system' | 'outside' | 'loop' | 'unseen' | 'unjudged';

export type ResolvedLink = {
  readonly verdict: LinkVerdict;
  /** The path that it leads to, when it is inside. */
  readonly to: string;
  /** Whether anything on the way, including the link itself, is among the changed paths. */
  readonly touched: boolean;
};

/** Linux gives up after this many. */
export const MAX_HOPS = 40;

/** How many characters of paths may be resolved for all links, or listed for all names: some hundred milliseconds. */
const WORK_CHARS = 32 * 1024 * 1024;

/** Where a virtual environment links to, and only root writes. */
const SYSTEM = ['usr', 'bin', 'sbin', 'lib', 'lib64'];

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
    // Boundary: links to links to long paths cost a bounded amount of work, and never count as harmless.
    if (left < 0) return 'unjudged';
    if (way.hops > MAX_HOPS) return 'loop';
    const names = namesOf(target);
    way.at = parentOf(path);
    if (target.startsWith('/')) {
      // Boundary: an absolute target is inside only if it is spelled as the workspace is.
      if (root.some((name, index) => names[index] !== name)) {
        return SYSTEM.includes(names[0] ?? '') && ![...names, ...way.pending].includes('..')
          ? 'system'
          : 'outside';
      }
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

/**
 * The other names under which a tool reaches a file: through a link on the way (`.git/hooks -> ../scripts`). Rules about
 * names apply to all.
 */
export type OtherNames = {
  readonly names: readonly string[];
  readonly more: boolean;
};

const NONE: OtherNames = { names: [], more: false };
const TOO_MANY: OtherNames = { names: [], more: true };
const MAX_NAMES = 32;
const MAX_NAME_CHARS = 4096;

/** The maximum depth of names that depend on each other, so that a chain of links cannot exhaust the stack. */
const MAX_DEPTH = 1000;

/** Returns the other names of a path, by the links that lead to it. */
export function otherNamesIn(
  links: ReadonlyMap<string, Pick<ResolvedLink, 'to'>>,
  workChars = WORK_CHARS,
): (path: string) => OtherNames {
  const aliases = new Map<string, string[]>();
  for (const [path, { to }] of links) {
    const list = aliases.get(to);
    if (list === undefined) aliases.set(to, [path]);
    else list.push(path);
  }
  const known = new Map<string, OtherNames>([['', NONE]]);
  let left = workChars;
  let depth = 0;
  const combine = (path: string): OtherNames => {
    const above = namesFor(parentOf(path));
    const base = baseOf(path);
    const names = new Set(above.names.map((name) => pathIn(name, base)));
    let { more } = above;
    for (const alias of aliases.get(path) ?? []) {
      const others = namesFor(alias);
      names.add(alias);
      for (const name of others.names) names.add(name);
      more ||= others.more;
      // Boundary: a thousand links to one file do not lead to a thousand names to judge.
      if (names.size > MAX_NAMES) more = true;
      if (more) break;
    }
    const kept = [...names]
      .slice(0, MAX_NAMES)
      .filter((name) => name.length <= MAX_NAME_CHARS && name !== path);
    for (const name of kept) left -= name.length;
    return left < 0 ? TOO_MANY : { names: kept, more };
  };
  const namesFor = (path: string): OtherNames => {
    const ready = known.get(path);
    if (ready !== undefined) return ready;
    // Boundary: a link into its own directory would yield endless names.
    known.set(path, NONE);
    depth += 1;
    const names = depth > MAX_DEPTH ? TOO_MANY : combine(path);
    depth -= 1;
    known.set(path, names);
    return names;
  };
  return aliases.size === 0 ? () => NONE : namesFor;
}
