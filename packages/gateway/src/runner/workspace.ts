import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  realpathSync,
} from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { ancestorsOf, isWithin } from '../core/paths.ts';
import { PROTECTED } from '../core/protected.table.ts';
import { orElse } from '../core/result.ts';
import { type ForbiddenPlaces, type OpenedPath, openedPath } from './forbidden.ts';
import { resolvePath } from './resolve-path.ts';
import { ROOT_REMEDY } from './roots.ts';
import type { RunnerSettings } from './settings.ts';
import { DEVICES, SYSTEM_PATHS } from './system.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

type WorkspaceCode = 'runner/invalid-workspace' | 'runner/outside-workspace';

/** The one directory that the run may write to, and the root that it lies in. */
export type FoundWorkspace = { readonly facts: FileFacts; readonly root: string };

type Roots = Pick<RunnerSettings, 'workspaceRoots' | 'defaultWorkspace' | 'startedIn'>;

/** Opens what the call names, and judges what was opened: canonical, in a root, and no forbidden directory. */
export function findWorkspace(
  asked: string | null,
  { workspaceRoots, defaultWorkspace, startedIn }: Roots,
  forbidden: ForbiddenPlaces,
): FoundWorkspace {
  if (workspaceRoots.length === 0) {
    const why = startedIn === null ? '' : ` (${startedIn})`;
    throw badWorkspace(`palisade has no root that commands may work in${why}, expected one`);
  }
  const raw = asked ?? defaultWorkspace;
  if (raw === null) throw badWorkspace('the call names none and there is no default, expected a directory');
  if (!isAbsolute(raw)) throw badWorkspace(`${quote(raw)} is relative, expected an absolute path`);
  // Boundary: the links of both sides are resolved, those of the roots when palisade was started: a run that has since
  // replaced a root by a link gains nothing.
  const rootOf = (path: string): string => {
    const around = workspaceRoots.filter((root) => isAbsolute(root) && isWithin(path, root));
    const [innermost] = around.sort((a, b) => b.length - a.length);
    if (innermost !== undefined) return innermost;
    throw badWorkspace(`${quote(raw)} is not below any of the workspace roots, expected one that is`);
  };
  // Boundary: outside of the roots, the answer does not tell what exists.
  rootOf(resolvePath(raw, '/').path);
  const { facts, opened } = openWorkspace(raw);
  const { path } = facts;
  const root = rootOf(path);
  const reason = forbidden.againstWorkspace(opened);
  if (reason !== null) throw badWorkspace(`${quote(path)} ${reason}, expected the directory of one project`);
  const place = protectedPlace(path);
  if (place !== null)
    throw badWorkspace(`${quote(path)} ${place}, expected the directory of one project`, PROJECT_REMEDY);
  return { facts, root };
}

/** Boundary: the facts and the judgement are of one descriptor, whatever the path leads to meanwhile. */
function openWorkspace(raw: string): { readonly facts: FileFacts; readonly opened: OpenedPath } {
  const at = (what: string) => badWorkspace(`${quote(raw)} ${what}, expected a directory`);
  let fd: number | null = null;
  try {
    const path = realpathSync.native(raw);
    fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const opened = openedPath(fd, path);
    if (opened.path !== path) throw at('was exchanged while it was opened');
    return { facts: factsFrom(path, fstatSync(fd, { bigint: true })), opened };
  } catch (error) {
    if (error instanceof CodedError || !(error instanceof Error) || !('code' in error)) throw error;
    throw error.code === 'ENOTDIR' ? at('is a file') : at(`cannot be opened (${error.code})`);
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

/** Where the command starts: the workspace, or a directory inside it. */
export function findCwd(asked: string | null, workspace: FileFacts): FileFacts {
  if (asked === null) return workspace;
  const raw = isAbsolute(asked) ? asked : `${workspace.path}/${asked}`;
  // Boundary: judged after links are resolved, and before anything outside is looked at.
  if (isWithin(resolvePath(raw, '/').path, workspace.path)) {
    const cwd = directoryAt(raw, 'runner/outside-workspace', 'working directory');
    if (isWithin(cwd.path, workspace.path)) return cwd;
  }
  throw new CodedError(
    'runner/outside-workspace',
    `Cannot use the working directory: ${quote(asked)} leads out of the workspace, expected a path inside it`,
  );
}

function directoryAt(raw: string, code: WorkspaceCode, what: string): FileFacts {
  try {
    const path = realpathSync.native(raw);
    const stats = lstatSync(path, { bigint: true });
    if (stats.isDirectory()) return factsFrom(path, stats);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const message = `Cannot use the ${what}: ${quote(raw)} cannot be opened (${error.code}), expected a directory`;
    throw new CodedError(code, message);
  }
  throw new CodedError(code, `Cannot use the ${what}: ${quote(raw)} is a file, expected a directory`);
}

const PROJECT_REMEDY =
  'Name the top directory of the project as the workspace, and work below it with `cwd`.';

function badWorkspace(what: string, remedy = ROOT_REMEDY): CodedError {
  return new CodedError('runner/invalid-workspace', `Cannot use the workspace: ${what}`, { remedy });
}

/** Which part of the machine a resolved path is in: the workspace, what every program reads, what the operator named, or elsewhere. */
export type PathZone = 'workspace' | 'system' | 'read-only' | 'outside';

export type ZoneRoots = { readonly workspace: string; readonly readOnly: readonly string[] };

/** The zone of a path that has no links left in it. */
export function zoneOf(path: string, { workspace, readOnly }: ZoneRoots): PathZone {
  if (isWithin(path, workspace)) return 'workspace';
  if (DEVICES.has(path) || SYSTEM_PATHS.some((part) => isWithin(path, part))) return 'system';
  return readOnly.some((part) => isWithin(path, part)) ? 'read-only' : 'outside';
}

/** Which file or directory was at a canonical path, for a later look at the same path. */
export type FileFacts = {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
  readonly sizeBytes: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
};

export function factsFrom(path: string, stats: BigIntStats): FileFacts {
  return {
    path,
    dev: stats.dev,
    ino: stats.ino,
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    mode: Number(stats.mode),
    sizeBytes: stats.size,
    mtimeNs: stats.mtimeNs,
    ctimeNs: stats.ctimeNs,
  };
}

/** Whether the same directory is still there; its content may be another. */
export function isSameDirectory(facts: FileFacts): boolean {
  const now = lookAgain(facts.path);
  return now !== null && now.dev === facts.dev && now.ino === facts.ino && now.mode === facts.mode;
}

/** Whether the same file is still there, and was not written to. */
export function isSameFile(facts: FileFacts): boolean {
  const now = lookAgain(facts.path);
  return now !== null && (Object.keys(facts) as (keyof FileFacts)[]).every((key) => now[key] === facts[key]);
}

/** Boundary: a link that took the place of the file is not followed; its own facts differ. */
function lookAgain(path: string): FileFacts | null {
  // Gone or no longer reachable: in any case changed.
  return orElse(() => factsFrom(path, lstatSync(path, { bigint: true })), null);
}

/*
 * Directories whose files run by themselves later: a workspace there would be made of nothing else, and its names,
 * which are judged from the workspace down, would not show it.
 */

/** The directories of the table: those that matter as a whole, and those in which some names do. */
const WHOLE = new Set(['.git']);
const WITH_NAMES = new Set<string>();

for (const { patterns } of Object.values(PROTECTED)) {
  for (const pattern of patterns.toLowerCase().split(' ')) {
    const names = pattern.split('/');
    const end = names.findIndex((name, index) => name.includes('*') || index === names.length - 1);
    if (names[end] === '**') WHOLE.add(names.slice(0, end).join('/'));
    // A directory without a dot, as Library, is more often something else.
    if (pattern.startsWith('.'))
      for (let length = 1; length <= end; length += 1) WITH_NAMES.add(names.slice(0, length).join('/'));
  }
}

/** Why this path without links cannot be a workspace, as the end of a sentence about it; null if it can. */
export function protectedPlace(path: string): string | null {
  // Boundary: the names are the same in every case, as on file systems that ignore it.
  const folded = path.normalize('NFKC').toUpperCase().toLowerCase();
  const isProtected =
    [...WHOLE].some((place) => `${folded}/`.includes(`/${place}/`)) ||
    [...WITH_NAMES].some((place) => folded.endsWith(`/${place}`));
  if (isProtected) return 'is for files that run by themselves later';
  const repository = ancestorsOf(path).find(isGitDirectory);
  return repository === undefined ? null : `is in "${repository}", which git takes for a repository`;
}

function isGitDirectory(directory: string): boolean {
  const has = (name: string) =>
    orElse(() => lstatSync(join(directory, name), { throwIfNoEntry: false }), undefined) !== undefined;
  return has('HEAD') && (has('commondir') || (has('objects') && has('refs')));
}
