/**
 * Which names of a workspace are protected, and by which row. Pure: it judges the names of a snapshot, those that links
 * lead to and the places that git takes for a repository.
 */
import {
  PACKAGE_FOLDERS,
  PROTECTED,
  PROTECTED_NAMES,
  type ProtectedName,
  ROWS_IN_PACKAGES,
} from '../../core/protected.table.ts';
import { MAX_HOPS, otherNamesIn, resolveLinks } from './links.ts';
import type { Entry } from './names.ts';
import { baseOf, foldedGlob, foldName, foldPath, indexGlobs, parentOf, pathIn } from './names.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Paths that configuration from before the run makes dangerous, such as the directory of core.hooksPath. Those that
 * begin with `./` count at the top of every work tree.
 */
export type ProtectedHints = ReadonlyMap<string, ProtectedName>;

export const EVERY_TOP = './';

export type ProtectedNames = {
  /** Every protected name that is not a directory, with its row. */
  readonly rows: ReadonlyMap<string, ProtectedName>;
  /** The directories that git takes for a repository; the workspace itself is ''. */
  readonly repositories: ReadonlySet<string>;
  /** Names with too many links to them to tell. */
  readonly unjudged: readonly string[];
};

const PATTERNS = PROTECTED_NAMES.flatMap((row) =>
  PROTECTED[row].patterns.split(' ').map((pattern) => ({ pattern, row })),
);
const rowsOf = indexGlobs(
  PATTERNS.map(({ pattern, row }) => ({ glob: foldedGlob(`**/${pattern}`), value: row })),
);

/** The parts of a repository: a directory with a HEAD and these, or with a `commondir`, is one. */
const PARTS_OF_REPOSITORY = ['head', 'objects', 'refs', 'commondir'];
const IN_REPOSITORY = ['config', 'config.worktree', 'objects/info/alternates', 'git-rebase-todo', 'index'];

/** The patterns that are one path. */
export const LITERAL_NAMES = PATTERNS.map(({ pattern }) => pattern).filter(
  (pattern) => !pattern.includes('*'),
);

/** Every name in a pattern: a link of another name makes nothing protected of what it leads to. */
const TELLING_NAMES = new Set(PATTERNS.flatMap(({ pattern }) => foldPath(pattern)));

/** How the patterns begin that do not begin with a dot. */
const STARTS = [...new Set(PATTERNS.map(({ pattern }) => /^[^.*/]+/.exec(pattern)?.[0] ?? ''))].filter(
  (start) => start !== '',
);

/** A cheap test that every protected name, and every part of a repository, passes; few others do. */
const MAY_MATTER = new RegExp(
  [
    '(?:^|/)\\.',
    `(?:^|/)(?:hooks(?:/|$)|sharedindex\\.|${STARTS.map(escapeText).join('|')})`,
    `(?:^|/)(?:${[...PARTS_OF_REPOSITORY, ...IN_REPOSITORY].map(escapeText).join('|')})$`,
    '\\.(?:code-workspace|iws|ipr)$',
    // A name that folds to another one.
    '[^ -~]|\\\\',
  ].join('|'),
  'i',
);

/** Objects of git, which a repository has by the thousand. */
const OBJECT = /\/objects\/(?:[0-9a-f]{2}|[0-9a-f]{2}\/[0-9a-f]{38,62}|pack\/[^/]+\.(?:pack|idx|rev))$/;

export function mayMatter(path: string): boolean {
  return MAY_MATTER.test(path) && !OBJECT.test(path);
}

/**
 * Finds the protected names of a snapshot. `linksBefore` are the protected links before a run: they are what links will
 * be again, so that a file counts for where they lead and not for where the run made them lead.
 */
export function protectedIn(
  snapshot: Snapshot,
  workspace: string,
  hints: ProtectedHints,
  linksBefore: ReadonlyMap<string, Entry> | null = null,
): ProtectedNames {
  const { entries } = snapshot;
  const paths = [...entries.keys()].filter((path) => mayMatter(path) && path !== '.');
  const repositories = repositoriesIn(paths);
  const linked =
    linksBefore === null ? snapshot : withLinks(snapshot, linksBefore, (path) => rowOf(path, repositories));
  const places = placesOf(hints, topsIn(paths));
  const aliases = aliasesOf(linked, workspace, places);
  const rows = new Map<string, ProtectedName>();
  const unjudged = new Set<string>();
  const note = (path: string) => {
    if (entries.get(path)?.kind === 'directory') return;
    const others = aliases.namesFor(path);
    if (others.more) unjudged.add(path);
    const names = [path, ...others.names];
    // Boundary: what configuration names counts as that, whatever its name says; too many names count as any.
    const row =
      first(names, (name) => hinted(name, places)) ??
      first(names, (name) => rowOf(name, repositories)) ??
      (others.more ? 'git-hooks' : undefined);
    if (row !== undefined) rows.set(path, row);
  };
  for (const path of paths) note(path);
  if (aliases.places.size > 0 || places.size > 0) {
    for (const path of entries.keys()) if (isBelow(path, aliases.places) || hinted(path, places)) note(path);
  }
  return { rows, repositories, unjudged: [...unjudged] };
}

/** Where a name matters whatever it is called: below what configuration names, and below what links lead to. */
export function placesThatMatter(
  snapshot: Snapshot,
  workspace: string,
  hints: ProtectedHints,
): ReadonlySet<string> {
  const paths = [...snapshot.entries.keys()].filter((path) => mayMatter(path) && path !== '.');
  const places = placesOf(hints, topsIn(paths));
  return new Set([...places.keys(), ...aliasesOf(snapshot, workspace, places).places]);
}

/** The tops of work trees. */
export function topsIn(paths: Iterable<string>): ReadonlySet<string> {
  const tops = new Set<string>();
  for (const path of paths) if (foldName(baseOf(path)) === '.git') tops.add(parentOf(path));
  return tops;
}

function placesOf(hints: ProtectedHints, tops: ReadonlySet<string>): ProtectedHints {
  const places = new Map<string, ProtectedName>();
  for (const [path, row] of hints) {
    if (!path.startsWith(EVERY_TOP)) places.set(path, row);
    else for (const top of tops) places.set(pathIn(top, path.slice(EVERY_TOP.length)), row);
  }
  return places;
}

/**
 * The directory that a protected name belongs to, the project or the repository, and its path from there: a name that
 * is moved together with this directory means what it meant before.
 */
export function homeOf(
  path: string,
  row: ProtectedName,
  repositories: ReadonlySet<string>,
): { readonly directory: string; readonly rest: string } | null {
  for (let at = parentOf(path); ; at = parentOf(at)) {
    const rest = at === '' ? path : path.slice(at.length + 1);
    const names = foldPath(rest);
    if (rowsOf(names)[0] === row) return { directory: at, rest };
    if (repositories.has(at) && rowsOf(['.git', ...names])[0] === row) return { directory: at, rest };
    if (at === '') return null;
  }
}

function first<T>(names: readonly string[], find: (name: string) => T | undefined): T | undefined {
  for (const name of names) {
    const found = find(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function rowOf(path: string, repositories: ReadonlySet<string>): ProtectedName | undefined {
  const names = foldPath(path);
  // Git never runs these: they are the templates of every new repository.
  if (names.at(-1)?.endsWith('.sample') === true && names.at(-2) === 'hooks') return undefined;
  const isInPackage = names.slice(0, -1).some((name) => PACKAGE_FOLDERS.includes(name));
  const fits = (row: ProtectedName) => !isInPackage || ROWS_IN_PACKAGES.includes(row);
  const found = rowsOf(names).find(fits);
  if (found !== undefined) return found;
  for (let at = parentOf(path); ; at = parentOf(at)) {
    if (repositories.has(at)) {
      const inner = rowsOf(['.git', ...foldPath(at === '' ? path : path.slice(at.length + 1))]).find(fits);
      if (inner !== undefined) return inner;
    }
    if (at === '') return undefined;
  }
}

function repositoriesIn(paths: readonly string[]): ReadonlySet<string> {
  const parts = new Map<string, Set<string>>();
  for (const path of paths) {
    const part = foldName(baseOf(path));
    if (!PARTS_OF_REPOSITORY.includes(part)) continue;
    const directory = parentOf(path);
    parts.set(directory, (parts.get(directory) ?? new Set()).add(part));
  }
  const isRepository = (has: ReadonlySet<string>) =>
    has.has('head') && (has.has('commondir') || (has.has('objects') && has.has('refs')));
  return new Set([...parts].filter(([, has]) => isRepository(has)).map(([directory]) => directory));
}

/** The snapshot with its protected links as they were. */
function withLinks(
  snapshot: Snapshot,
  before: ReadonlyMap<string, Entry>,
  rowOfName: (path: string) => ProtectedName | undefined,
): Snapshot {
  const isNew = ({ path, kind, target }: Entry) =>
    kind === 'symlink' && before.get(path)?.target !== target && rowOfName(path) !== undefined;
  const added = [...snapshot.entries.values()].filter(isNew);
  const lost = [...before].filter(([path, { target }]) => snapshot.entries.get(path)?.target !== target);
  if (added.length === 0 && lost.length === 0) return snapshot;
  const entries = new Map(snapshot.entries);
  for (const { path } of added) entries.delete(path);
  for (const [path, entry] of lost) entries.set(path, entry);
  return { ...snapshot, entries };
}

/**
 * The other names of files that links lead to. Left out are links inside packages, which lead to packages, and links of
 * a name that means nothing: a thousand of those say nothing about what they lead to.
 */
function aliasesOf(snapshot: Snapshot, workspace: string, hints: ProtectedHints) {
  const inside = [...resolveLinks(snapshot, workspace, new Set())].filter(
    ([path, { verdict, to }]) => verdict === 'inside' && to !== '' && !isInPackage(path),
  );
  const hintNames = new Set([...hints.keys()].flatMap(foldPath));
  const leadsToHint = (path: string) =>
    hintNames.has(foldName(baseOf(path))) || hinted(path, hints) !== undefined;
  const isTelling = (path: string) =>
    mayMatter(path) || leadsToHint(path) || foldPath(path).some((name) => TELLING_NAMES.has(name));
  const telling = new Map(inside.filter(([path]) => isTelling(path)));
  const places = new Set([...telling.values()].map(({ to }) => to));
  // A link in a directory that such a link leads to is a part of it; so are those behind it.
  for (let round = 0, known = -1; known < telling.size && round < MAX_HOPS; round += 1) {
    known = telling.size;
    for (const [path, link] of inside) {
      if (telling.has(path) || !isBelow(path, places)) continue;
      telling.set(path, link);
      places.add(link.to);
    }
  }
  return { places, namesFor: otherNamesIn(telling) };
}

function isInPackage(path: string): boolean {
  return PACKAGE_FOLDERS.some((folder) => `/${path}`.includes(`/${folder}/`));
}

export function isBelow(path: string, places: ReadonlySet<string>): boolean {
  for (let at = path; at !== ''; at = parentOf(at)) if (places.has(at)) return true;
  return false;
}

function hinted(path: string, hints: ProtectedHints): ProtectedName | undefined {
  if (hints.size === 0) return undefined;
  for (let at = path; at !== ''; at = parentOf(at)) {
    const row = hints.get(at);
    if (row !== undefined) return row;
  }
  return undefined;
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
