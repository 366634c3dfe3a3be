import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { isWithin } from '../core/within.ts';
import type { FileDigests } from './file-digests.ts';
import { type OpenedExecutable, openExecutable } from './open-executable.ts';
import { type Place, placeOf } from './place.ts';
import type { RunnerSettings } from './settings.ts';

/** The program of a command: which file runs, and under which name. */
export type Executable = OpenedExecutable & {
  /** The file that is executed, with all links resolved. */
  readonly path: string;
  /** The name that the program is told it was called by: as asked for, absolute when a path was. */
  readonly argv0: string;
  /** Where the name or path was found, its directory canonical and its last part not followed. */
  readonly foundAt: string;
  readonly place: Place;
};

export type ExecutableScope = Pick<RunnerSettings, 'searchPath' | 'allowedExecutables' | 'readOnly'> & {
  readonly cwd: string;
  readonly workspace: string;
};

/** Finds the program, and refuses one that the operator did not allow or that is neither the system's nor the workspace's. */
export function resolveExecutable(command: string, scope: ExecutableScope, digests: FileDigests): Executable {
  const isPath = command.includes('/');
  const foundAt = isPath ? entryAt(resolve(scope.cwd, command)) : searchFor(command, scope);
  const path = foundAt === null ? null : realPathOf(foundAt);
  if (foundAt === null || path === null) throw notFound(command, isPath, scope);
  const place = placeOf(path, scope);
  // Boundary: a name never finds what the workspace holds, not even through a link on the search path.
  if (!isPath && place === 'workspace') {
    throw new CodedError(
      'runner/not-allowed',
      `Cannot run ${quote(command)}: on the search path it leads into the workspace, expected a path to run such a file`,
    );
  }
  demandAllowed(command, { foundAt, path, place }, scope);
  const argv0 = isPath ? resolve(scope.cwd, command) : command;
  return { ...openExecutable(path, digests), path, argv0, foundAt, place };
}

/** The first file of that name on the search path; directories that are relative or in the workspace are passed over. */
export function searchFor(
  name: string,
  { searchPath, workspace }: Pick<ExecutableScope, 'searchPath' | 'workspace'>,
): string | null {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) return null;
  for (const directory of searchPath) {
    // Boundary: an empty or relative entry means the working directory, which the caller chose and filled.
    const real = isAbsolute(directory) ? realPathOf(directory) : null;
    if (real === null || isWithin(real, workspace)) continue;
    const candidate = join(real, name);
    if (isProgram(candidate)) return candidate;
  }
  return null;
}

function demandAllowed(
  command: string,
  found: Pick<Executable, 'foundAt' | 'path' | 'place'>,
  scope: ExecutableScope,
): void {
  const { allowedExecutables } = scope;
  if (allowedExecutables === 'any') {
    if (found.place !== 'outside') return;
    throw new CodedError(
      'runner/outside-workspace',
      `Cannot run ${quote(command)}: ${quote(found.path)} is outside, expected a program of the workspace or the system`,
      { remedy: 'Have the operator list the program by its absolute path, or its directory as read-only.' },
    );
  }
  // Boundary: files are compared and not names, or any file in the workspace could be called like an allowed one.
  const isAllowed = allowedExecutables.some((entry) => {
    const at = isAbsolute(entry) ? entryAt(entry) : searchFor(entry, scope);
    return at !== null && (at === found.foundAt || at === found.path);
  });
  if (isAllowed) return;
  throw new CodedError(
    'runner/not-allowed',
    `Cannot run ${quote(command)}: ${quote(found.path)} is not among the allowed programs, expected one that is`,
    { remedy: 'Have the operator add the program to the allowed ones.' },
  );
}

/** A path with its directory resolved and its last part as it is: the same entry has the same text. */
function entryAt(path: string): string | null {
  const directory = realPathOf(dirname(path));
  return directory === null ? null : join(directory, basename(path));
}

function isProgram(path: string): boolean {
  try {
    const stats = statSync(path);
    return stats.isFile() && (stats.mode & 0o111) !== 0;
  } catch {
    // No entry, a link in circles, a name that is too long: nothing to run here.
    return false;
  }
}

function realPathOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}

function notFound(command: string, isPath: boolean, { searchPath }: ExecutableScope): CodedError {
  const where = isPath ? 'there is no such file' : `it is in none of ${searchPath.join(', ')}`;
  return new CodedError('runner/not-found', `Cannot run ${quote(command)}: ${where}, expected a program`);
}
