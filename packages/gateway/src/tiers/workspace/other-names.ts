/**
 * The other names under which a tool reaches a file: through a link on the way (`.git/hooks -> ../scripts`), or
 * because git takes a directory for a repository though it is not called `.git`. Rules about names hold for all.
 */
import type { Snapshot } from './entry.ts';
import { baseOf, parentOf, pathIn } from './names.ts';
import type { ResolvedLink } from './resolve-link.ts';

export type OtherNames = {
  readonly names: readonly string[];
  /** Whether there were too many to list all. */
  readonly more: boolean;
};

const NONE: OtherNames = { names: [], more: false };
const TOO_MANY: OtherNames = { names: [], more: true };
const MAX_NAMES = 32;
const MAX_NAME_CHARS = 4096;

/** How far one name may depend on another, so that a chain of links cannot use up the stack. */
const MAX_DEPTH = 1000;

/** What may be written down for the whole workspace. */
const WORK_CHARS = 32 * 1024 * 1024;

/** Gives, for a path of the snapshot, its other names. */
export function otherNamesIn(
  snapshot: Snapshot,
  links: ReadonlyMap<string, ResolvedLink>,
  workChars = WORK_CHARS,
): (path: string) => OtherNames {
  const aliases = aliasesIn(snapshot, links);
  const known = new Map<string, OtherNames>([['', NONE]]);
  let left = workChars;
  let depth = 0;
  const combine = (path: string): OtherNames => {
    const above = namesOf(parentOf(path));
    const base = baseOf(path);
    const names = new Set(above.names.map((name) => pathIn(name, base)));
    let { more } = above;
    for (const alias of aliases.get(path) ?? []) {
      const others = namesOf(alias);
      names.add(alias);
      for (const name of others.names) names.add(name);
      more ||= others.more;
      // Boundary: a thousand links to one file are not a thousand names to judge.
      if (names.size > MAX_NAMES) return TOO_MANY;
    }
    const kept = [...names].filter((name) => name.length <= MAX_NAME_CHARS && name !== path);
    for (const name of kept) left -= name.length;
    return left < 0 ? TOO_MANY : { names: kept, more };
  };
  const namesOf = (path: string): OtherNames => {
    const ready = known.get(path);
    if (ready !== undefined) return ready;
    // Boundary: a link into its own directory would give names without end.
    known.set(path, NONE);
    depth += 1;
    const names = depth > MAX_DEPTH ? TOO_MANY : combine(path);
    depth -= 1;
    known.set(path, names);
    return names;
  };
  return aliases.size === 0 ? () => NONE : namesOf;
}

/** Path → the links that lead to it, and `<path>/.git` where git sees a bare repository. */
function aliasesIn(
  { entries }: Snapshot,
  links: ReadonlyMap<string, ResolvedLink>,
): ReadonlyMap<string, readonly string[]> {
  const aliases = new Map<string, string[]>();
  const add = (path: string, alias: string) => {
    const list = aliases.get(path);
    if (list === undefined) aliases.set(path, [alias]);
    else list.push(alias);
  };
  for (const [path, { verdict, to }] of links) {
    if (verdict === 'inside' && to !== '') add(to, path);
  }
  for (const path of entries.keys()) {
    if (baseOf(path) !== 'HEAD') continue;
    const directory = parentOf(path);
    const isBare = ['objects', 'refs'].every((name) => entries.has(pathIn(directory, name)));
    if (isBare && directory !== '' && baseOf(directory) !== '.git') add(directory, `${directory}/.git`);
  }
  return aliases;
}
