import { isAbsolute, join, resolve } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import type { Environment } from './environment.ts';

export type StateDirOrigin =
  | 'flag --state'
  | 'environment PALISADE_STATE'
  | 'environment XDG_STATE_HOME'
  | 'default';

/** An absolute path, and who chose it. */
export type StateDir = { readonly path: string; readonly origin: StateDirOrigin };

type Choice = {
  readonly flag?: string | undefined;
  readonly env: Pick<Environment, 'state' | 'xdgStateHome' | 'home'>;
  readonly cwd: string;
};

/** Chooses the state directory: the flag, else PALISADE_STATE, else the place of the XDG convention. */
export function chooseStateDir({ flag, env, cwd }: Choice): StateDir {
  if (flag !== undefined) return checked(flag, 'flag --state', cwd);
  if (env.state !== null) return checked(env.state, 'environment PALISADE_STATE', cwd);
  // The XDG convention tells to ignore a relative path.
  if (env.xdgStateHome !== null && isAbsolute(env.xdgStateHome)) {
    return checked(join(env.xdgStateHome, 'palisade'), 'environment XDG_STATE_HOME', cwd);
  }
  if (env.home === null) {
    throw wrongUsage('there is no home directory, expected --state DIR or the variable PALISADE_STATE');
  }
  return checked(join(env.home, '.local', 'state', 'palisade'), 'default', cwd);
}

function checked(path: string, origin: StateDirOrigin, cwd: string): StateDir {
  if (path === '') throw wrongUsage(`${origin} is empty, expected a path`);
  // Boundary: what follows a NUL is cut off by the kernel, so the checked path would not be the used one.
  if (path.includes('\0')) throw wrongUsage(`${origin} has a NUL character, expected a path`);
  return { path: resolve(cwd, path), origin };
}

function wrongUsage(what: string): CodedError {
  return new CodedError('door/wrong-usage', `Cannot choose the state directory: ${what}`);
}
