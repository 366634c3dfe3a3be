import { lstatSync, realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { quote } from '../core/hostile-text.ts';
import { isWithin } from '../core/within.ts';
import { type FileFacts, factsFrom } from './file-facts.ts';
import { type RunnerCode, RunnerProblem } from './problem.ts';
import { resolvePath } from './resolve-path.ts';
import type { RunnerSettings } from './settings.ts';
import { NEVER_BELOW, NEVER_WORKSPACES } from './system.table.ts';

/** What must never be in reach of a command, whatever the settings say. */
export type ForbiddenPaths = {
  /** The state directory of the gateway. */
  readonly stateDir: string;
  /** The home of the gateway's user, which has keys and configuration; null where there is none. */
  readonly home: string | null;
};

const REMEDY = 'Name a directory below one of the workspace roots, or have the operator add a root.';

/** The one directory that the run may write to: canonical, below a root, and nothing that holds more than one project. */
export function findWorkspace(
  asked: string | null,
  { workspaceRoots, defaultWorkspace }: Pick<RunnerSettings, 'workspaceRoots' | 'defaultWorkspace'>,
  forbiddenPaths: ForbiddenPaths,
): FileFacts {
  const raw = asked ?? defaultWorkspace;
  if (raw === null) throw badWorkspace('none is named and there is no default, expected one');
  if (!isAbsolute(raw)) throw badWorkspace(`${quote(raw)} is relative, expected an absolute path`);
  const facts = directoryAt(raw, 'runner/invalid-workspace', 'workspace');
  const { path } = facts;
  // Boundary: the links of both sides are resolved, those of the roots when palisade was started: a run that has since
  // put a link in the place of a root leads nowhere new.
  if (!workspaceRoots.filter(isAbsolute).some((root) => isWithin(path, root))) {
    throw badWorkspace(`${quote(path)} is below none of the workspace roots, expected one that is`);
  }
  const reason = reasonAgainst(path, forbiddenPaths);
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
  throw new RunnerProblem(
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

function directoryAt(raw: string, code: RunnerCode, what: string): FileFacts {
  try {
    const path = realpathSync.native(raw);
    const stats = lstatSync(path, { bigint: true });
    if (stats.isDirectory()) return factsFrom(path, stats);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    const message = `Cannot use the ${what}: ${quote(raw)} gives ${error.code}, expected a directory`;
    throw new RunnerProblem(code, message);
  }
  throw new RunnerProblem(code, `Cannot use the ${what}: ${quote(raw)} is a file, expected a directory`);
}

function badWorkspace(what: string): RunnerProblem {
  return new RunnerProblem('runner/invalid-workspace', `Cannot use the workspace: ${what}`, REMEDY);
}
