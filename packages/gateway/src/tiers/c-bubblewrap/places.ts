/** Where things of the host are inside a jail. Pure comparisons of canonical paths. */
import type { ProcessTerms } from '../../core/process.ts';
import { ancestorsOf, isWithin } from '../../core/within.ts';
import { type PlanRefusal, unenforceable } from '../plan/unenforceable.ts';
import { etcFiles } from './etc-files.ts';
import { ETC_BINDS, JAIL_PLACES, JAIL_WORKSPACE, SYSTEM_ROOTS } from './root.table.ts';

/** The workspace inside: its place, and the path of old that leads there where its own path is taken. */
export type WorkspacePlace = { readonly inside: string; readonly link: string | null };

/** Gives the workspace its own path, so that messages and build files fit on both sides, unless a part of the jail is there. */
export function placeWorkspace(workspace: string): WorkspacePlace {
  const taken = [...SYSTEM_ROOTS, ...JAIL_PLACES].some(({ path }) => overlap(path, workspace));
  if (!taken) return { inside: workspace, link: null };
  const linkable = JAIL_PLACES.some(
    ({ path, writable }) => writable && isWithin(workspace, path) && workspace !== path,
  );
  return { inside: JAIL_WORKSPACE, link: linkable ? workspace : null };
}

/** The path inside of something in the workspace; other paths stay as they are. */
export function moveInside(path: string, workspace: string, inside: string): string {
  return isWithin(path, workspace) ? `${inside}${path.slice(workspace.length)}` : path;
}

/** The read-only paths that need a bind: those that no other bind shows already, each once. */
export function listReadOnly(readOnly: readonly string[]): readonly string[] {
  const unseen = new Set(readOnly.filter((path) => !isSystem(path)));
  const outermost = [...unseen].filter((path) => !ancestorsOf(path).some((above) => unseen.has(above)));
  return outermost.sort();
}

/** Gives null when every read-only path can be bound where it is and covers nothing. */
export function checkReadOnly(terms: ProcessTerms, inside: string): PlanRefusal | null {
  for (const path of listReadOnly(terms.readOnly)) {
    // Boundary: a mount point below a place that the run writes to is the run's to redirect.
    const home = [terms.workspace, inside].find((place) => isWithin(path, place));
    if (home !== undefined) {
      return unenforceable(
        `Cannot bind "${path}" read-only: it lies in the workspace "${terms.workspace}", expected a path outside`,
        'Name it among the protected paths instead.',
      );
    }
    const place = findCovered(path);
    if (place !== undefined) {
      return unenforceable(
        `Cannot bind "${path}" read-only: it would cover "${place}" of the jail or lie in it, expected another path`,
        'Put what the run must read into a directory of its own and name that.',
      );
    }
  }
  return null;
}

/** Gives null when the executable is there to be found inside. */
export function checkExecutable({ executable, workspace, readOnly }: ProcessTerms): PlanRefusal | null {
  const shown = [workspace, ...readOnly].some((place) => isWithin(executable, place));
  if (shown || isSystem(executable)) return null;
  return unenforceable(
    `Cannot run "${executable}" in a jail: it is not shown there, expected a file in /usr, the workspace or a read-only path`,
    'Add the directory of the program to the read-only paths of the tool.',
  );
}

function isSystem(path: string): boolean {
  return SYSTEM_ROOTS.some((root) => isWithin(path, root.path));
}

function findCovered(path: string): string | undefined {
  const places = [...SYSTEM_ROOTS, ...JAIL_PLACES].filter((place) => place.path !== '/etc');
  const files = [...etcFiles({ sharesNetwork: true, names: [] }), ...ETC_BINDS];
  // A single file of /etc may be shown beside those that are made up.
  const covered = isWithin('/etc', path) ? '/etc' : files.find((file) => overlap(file.path, path))?.path;
  return covered ?? places.find((place) => overlap(place.path, path))?.path;
}

function overlap(one: string, other: string): boolean {
  return isWithin(one, other) || isWithin(other, one);
}
