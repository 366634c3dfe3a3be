/** Which changes touch what the operator has protected. */
import { CodedError } from '../../core/coded-error.ts';
import type { Change } from './diff.ts';
import { fits, type Glob, globOf, indexGlobs } from './glob.ts';
import { foldName, nameText } from './names.ts';
import type { OtherNames } from './other-names.ts';

/**
 * `case`: a name that some file system takes for the protected one; `ancestor`: what it lies in was taken away;
 * `other-name`: a link leads from the protected path to it.
 */
export type ProtectedHit = {
  readonly path: string;
  /** The pattern, as the operator wrote it. */
  readonly pattern: string;
  readonly how: 'exact' | 'case' | 'ancestor' | 'other-name';
};

type Pattern = { readonly source: string; readonly exact: Glob };

/**
 * Lists every change that hits a pattern. A pattern covers all that lies below what it names, whether it existed
 * before or not, without regard to case; a directory on the way to it that was removed, replaced or made a link is a
 * hit as well. With `otherNames`, a file that is reached through a link is judged under that name too.
 */
export function protectedChanges(
  changes: readonly Change[],
  patterns: readonly string[],
  otherNames: (path: string) => OtherNames = () => ({ names: [], more: false }),
): ProtectedHit[] {
  if (patterns.length === 0) return [];
  const find = compilePatterns(patterns);
  return changes.flatMap((change): ProtectedHit[] => {
    const { path } = change;
    const own = find(path, change);
    if (own !== null) return [{ path, ...own }];
    const others = otherNames(path);
    for (const name of others.names) {
      const other = find(name, change);
      if (other !== null) return [{ path, pattern: other.pattern, how: 'other-name' }];
    }
    // Boundary: who hides a file behind too many names to judge gets no benefit of the doubt.
    return others.more ? [{ path, pattern: patterns[0] ?? '', how: 'other-name' }] : [];
  });
}

type Found = { readonly pattern: string; readonly how: 'exact' | 'case' | 'ancestor' };

function compilePatterns(patterns: readonly string[]): (path: string, change: Change) => Found | null {
  const parsed = patterns.map((source) => ({ source, names: namesOf(source) }));
  const below = indexPatterns(parsed.map(({ source, names }) => ({ source, names: [...names, '**'] })));
  const above = indexPatterns(parsed.flatMap(ancestorsOf));
  return (path, change) => {
    const names = path.split('/');
    const hits = below(names);
    const exact = hits.find((hit) => fits(hit.exact, names));
    const hit = exact ?? hits[0];
    if (hit !== undefined) return { pattern: hit.source, how: exact === undefined ? 'case' : 'exact' };
    const ancestor = takesAway(change) ? above(names)[0] : undefined;
    return ancestor === undefined ? null : { pattern: ancestor.source, how: 'ancestor' };
  };
}

/** What only `**` stands for is no ancestor in particular: what was in it is among the changes itself. */
function ancestorsOf({ source, names }: Parsed): Parsed[] {
  return names.flatMap((_, index) =>
    index === 0 || names[index - 1] === '**' ? [] : [{ source, names: names.slice(0, index) }],
  );
}

/** Boundary: moving a directory away and making another in its place changes what is protected in it. */
function takesAway({ change, kind, replaced }: Change): boolean {
  return change === 'removed' || change === 'type' || replaced || (change === 'added' && kind === 'symlink');
}

type Parsed = { readonly source: string; readonly names: readonly string[] };

/** Plain paths are looked up and patterns with stars are tried, so that thousands of either do no harm. */
function indexPatterns(parsed: readonly Parsed[]): (names: readonly string[]) => Pattern[] {
  const plain = new Map<string, Pattern[]>();
  const starred: { glob: Glob; value: Pattern }[] = [];
  let deepest = 0;
  for (const { source, names } of parsed) {
    const pattern = { source, exact: globOf(names) };
    const fixed = names.at(-1) === '**' ? names.slice(0, -1) : names;
    if (fixed.some((name) => name.includes('*'))) {
      starred.push({ glob: globOf(names.map(foldName)), value: pattern });
      continue;
    }
    const key = foldName(fixed.join('/'));
    const list = plain.get(key);
    if (list === undefined) plain.set(key, [pattern]);
    else list.push(pattern);
    deepest = Math.max(deepest, fixed.length);
  }
  const findStarred = indexGlobs(starred);
  return (names) => {
    const folded = names.map(foldName);
    const found: Pattern[] = [];
    for (let length = 1; length <= Math.min(deepest, names.length); length += 1) {
      const patterns = plain.get(folded.slice(0, length).join('/')) ?? [];
      found.push(...patterns.filter(({ exact }) => exact.runs.length > 1 || length === names.length));
    }
    return [...found, ...findStarred(folded)];
  };
}

function namesOf(pattern: string): string[] {
  const names = pattern.replace(/^(?:\.\/)+|\/+$/g, '').split('/');
  // Boundary: a pattern that can never match protects nothing, so it is refused and not kept.
  if (names.some((name) => ['', '.', '..'].includes(name))) {
    throw new CodedError(
      'config/invalid',
      `Cannot protect "${pattern}": it has an empty name, "." or "..", expected a path inside the workspace`,
    );
  }
  // A pattern covers what is below it anyway.
  while (names.length > 1 && names.at(-1) === '**') names.pop();
  return names.map((name) => nameText(Buffer.from(name)));
}
