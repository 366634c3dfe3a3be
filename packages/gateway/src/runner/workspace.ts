import { type BigIntStats, lstatSync, realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { orElse } from '../core/or-else.ts';
import { isWithin } from '../core/paths.ts';
import { resolvePath } from './resolve-path.ts';
import type { RunnerSettings } from './settings.ts';
import { DEVICES, NEVER_BELOW, NEVER_WORKSPACES, SYSTEM_PATHS } from './system.ts';

/** What no command may ever reach, whatever the settings say. */
export type ForbiddenPaths = {
  readonly stateDir: string;
  /** The home directory of the gateway's user, which contains keys and configuration; null if there is none. */
  readonly home: string | null;
};

type WorkspaceCode = 'runner/invalid-workspace' | 'runner/outside-workspace';

const REMEDY =
  'Name a directory below one of process.workspaces in palisade.toml (--workspace DIR), or add it there.';

/** The one directory that the run may write to: canonical, below a root, and not a directory of several projects. */
export function findWorkspace(
  asked: string | null,
  { workspaceRoots, defaultWorkspace }: Pick<RunnerSettings, 'workspaceRoots' | 'defaultWorkspace'>,
  forbidden: ForbiddenPaths,
): FileFacts {
  const raw = asked ?? defaultWorkspace;
  if (raw === null) throw badWorkspace('the call names none and there is no default, expected a directory');
  if (!isAbsolute(raw)) throw badWorkspace(`${quote(raw)} is relative, expected an absolute path`);
  const facts = directoryAt(raw, 'runner/invalid-workspace', 'workspace');
  const { path } = facts;
  // Boundary: the links of both sides are resolved, those of the roots when palisade was started: a run that has since
  // replaced a root by a link gains nothing.
  if (!workspaceRoots.filter(isAbsolute).some((root) => isWithin(path, root))) {
    throw badWorkspace(`${quote(path)} is not below any of the workspace roots, expected one that is`);
  }
  const reason = reasonAgainst(path, forbidden);
  if (reason !== null) throw badWorkspace(`${quote(path)} ${reason}, expected the directory of one project`);
  return facts;
}

/** Where the command starts: the workspace, or a directory inside it. */
export function findCwd(asked: string | null, workspace: FileFacts): FileFacts {
  if (asked === null) return workspace;
  const raw = isAbsolute(asked) ? asked : `${workspace.path}/${asked}`;
  const cwd = directoryAt(raw, 'runner/outside-workspace', 'working directory');
  // Boundary: judged after links are resolved.
  if (isWithin(cwd.path, workspace.path)) return cwd;
  throw new CodedError(
    'runner/outside-workspace',
    `Cannot use the working directory: ${quote(asked)} leads to ${quote(cwd.path)}, expected a path inside the workspace`,
  );
}

function reasonAgainst(path: string, { stateDir, home }: ForbiddenPaths): string | null {
  if (NEVER_WORKSPACES.has(path) || NEVER_BELOW.some((part) => isWithin(path, part))) {
    return 'belongs to the system';
  }
  const state = resolvePath(stateDir, '/').path;
  // Boundary: a command that could write the journal, the keys or the policies would be its own judge.
  if (isWithin(path, state) || isWithin(state, path)) return 'holds the state of the gateway or is in it';
  if (home !== null && isWithin(resolvePath(home, '/').path, path))
    return 'holds the home directory of the gateway';
  return null;
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

function badWorkspace(what: string): CodedError {
  return new CodedError('runner/invalid-workspace', `Cannot use the workspace: ${what}`, { remedy: REMEDY });
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
