/*
 * The directories in or below which commands may work. Only the operator grants one: on the command line, else in the
 * configuration, else by starting palisade in a project. What a caller names has to lie in one of them.
 */
import { basename, dirname } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { isWithin } from '../core/paths.ts';
import { type ForbiddenPlaces, findMarker, settle } from './forbidden.ts';

export type RootGrants = {
  /** Of --workspace. */
  readonly granted: readonly string[];
  /** Of process.workspaces. */
  readonly configured: readonly string[];
  /** Where palisade was started; null if that is irrelevant. */
  readonly cwd: string | null;
};

/** The roots, without links. */
export type WorkspaceRoots = {
  readonly roots: readonly string[];
  readonly grantedBy:
    | '--workspace'
    | 'process.workspaces'
    | 'the project that palisade was started in'
    | 'nothing';
  /** Where a command works that names no workspace. */
  readonly defaultWorkspace: string | null;
  /** Whether the directory that palisade was started in is one, and why; null if that is irrelevant. */
  readonly startedIn: string | null;
};

/** How an operator grants a root. */
export const ROOT_REMEDY =
  'Name the directory of the project: with process.workspaces = ["DIR"] in palisade.toml, with `palisade connect CLIENT --workspace DIR` for a client, or with --workspace DIR of `palisade mcp`, `serve`, `exec` and `call`.';

/** The first kind of grant that exists counts alone. Refuses a grant of a forbidden directory. */
export function findRoots(
  { granted, configured, cwd }: RootGrants,
  forbidden: ForbiddenPlaces,
): WorkspaceRoots {
  const here = cwd === null ? null : settle(cwd);
  for (const path of granted) demandRoot(path, '--workspace', forbidden);
  for (const path of configured) demandRoot(path, 'process.workspaces', forbidden);
  const named = granted.length > 0 ? granted : configured;
  if (named.length === 0) return rootsFrom(here, forbidden);
  const grantedBy = granted.length > 0 ? '--workspace' : 'process.workspaces';
  const roots = named.map(settle);
  const isInside = here !== null && roots.some((root) => isWithin(here, root));
  const startedIn = `${quote(here ?? '')} is ${isInside ? 'in a root' : `not in a root: ${grantedBy} names others`}`;
  return {
    ...{ roots, grantedBy, startedIn: here === null ? null : startedIn },
    defaultWorkspace: isInside ? here : (roots[0] ?? null),
  };
}

/** Boundary: where palisade stands is a grant only if someone set it up as a project; clients start servers anywhere. */
function rootsFrom(here: string | null, forbidden: ForbiddenPlaces): WorkspaceRoots {
  const none = { roots: [], grantedBy: 'nothing', defaultWorkspace: null } as const;
  if (here === null) return { ...none, startedIn: null };
  const reason = forbidden.againstRoot(here);
  if (reason !== null) return { ...none, startedIn: `${quote(here)} is not a root: it ${reason}` };
  const marker = findMarker(here, forbidden);
  if (marker === null) {
    const lacks =
      'neither it nor a directory above it has the mark of a project, such as .git or package.json';
    return { ...none, startedIn: `${quote(here)} is not a root: ${lacks}` };
  }
  return {
    roots: [here],
    grantedBy: 'the project that palisade was started in',
    defaultWorkspace: here,
    startedIn: `${quote(here)} is the root: ${quote(basename(marker))} in ${quote(dirname(marker))} makes it a project`,
  };
}

/** Refuses a directory that no operator can grant. */
export function demandRoot(path: string, by: string, forbidden: ForbiddenPlaces): void {
  const reason = forbidden.againstRoot(settle(path));
  if (reason === null) return;
  throw new CodedError(
    by === '--workspace' ? 'door/wrong-usage' : 'config/invalid',
    `Cannot use ${by} ${quote(path)}: it ${reason}, expected the directory of a project`,
    { remedy: ROOT_REMEDY },
  );
}
