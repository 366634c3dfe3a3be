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
import { otherNamesIn, resolveLinks } from './links.ts';
import { baseOf, foldedGlob, foldName, foldPath, indexGlobs, parentOf } from './names.ts';
import type { Entry, Snapshot } from './snapshot.ts';

/** Paths that configuration from before the run makes dangerous, such as the directory of core.hooksPath. */
export type ProtectedHints = ReadonlyMap<string, ProtectedName>;

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
const IN_REPOSITORY = ['config', 'config.worktree', 'objects/info/alternates', 'git-rebase-todo'];

/** How the patterns begin that do not begin with a dot. */
const STARTS = [...new Set(PATTERNS.map(({ pattern }) => /^[^.*/]+/.exec(pattern)?.[0] ?? ''))].filter(
  (start) => start !== '',
);

/** A cheap test that every protected name, and every part of a repository, passes; few others do. */
const MAY_MATTER = new RegExp(
  [
    '(?:^|/)\\.',
    `(?:^|/)(?:hooks(?:/|$)|${STARTS.map(escapeText).join('|')})`,
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
  const aliases = aliasesOf(linked, workspace);
  const rows = new Map<string, ProtectedName>();
  const unjudged = new Set<string>();
  const note = (path: string) => {
    if (entries.get(path)?.kind === 'directory') return;
    const others = aliases.namesFor(path);
    if (others.more) unjudged.add(path);
    for (const name of [path, ...others.names]) {
      const row = rowOf(name, repositories) ?? hinted(name, hints);
      if (row !== undefined && !rows.has(path)) rows.set(path, row);
    }
  };
  for (const path of paths) note(path);
  if (aliases.places.size > 0 || hints.size > 0) {
    for (const path of entries.keys()) if (isBelow(path, aliases.places) || hinted(path, hints)) note(path);
  }
  return { rows, repositories, unjudged: [...unjudged] };
}

function rowOf(path: string, repositories: ReadonlySet<string>): ProtectedName | undefined {
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
 * The other names of files that links lead to. Left out are links inside packages, which lead to packages, and links to
 * a file whose name means nothing.
 */
function aliasesOf(snapshot: Snapshot, workspace: string) {
  const inside = [...resolveLinks(snapshot, workspace, new Set())].filter(
    ([path, { verdict, to }]) => verdict === 'inside' && to !== '' && !isInPackage(path),
  );
  const targets = inside.map(([, { to }]) => to);
  const directories = new Set(targets.filter((to) => snapshot.entries.get(to)?.kind === 'directory'));
  const telling = inside.filter(
    ([path, { to }]) => directories.has(to) || mayMatter(path) || isBelow(path, directories),
  );
  return { places: new Set(telling.map(([, { to }]) => to)), namesFor: otherNamesIn(new Map(telling)) };
}

function isInPackage(path: string): boolean {
  return PACKAGE_FOLDERS.some((folder) => `/${path}`.includes(`/${folder}/`));
}

function isBelow(path: string, places: ReadonlySet<string>): boolean {
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
