import { userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { shellWord } from '../core/hostile-text.ts';
import { isName } from '../core/principal.ts';
import type { Secret } from '../core/redact.ts';
import { orElse } from '../core/result.ts';
import { matchesPattern } from './grammar.ts';

/** The configuration in a state directory. */
export const CONFIG_FILE = 'palisade.toml';

/** What palisade takes from its environment; an unset variable is null. */
export type Environment = {
  readonly state: string | null;
  readonly xdgStateHome: string | null;
  readonly home: string | null;
  readonly noColor: boolean;
  /** The login name of the owner of this process, when it can name a principal. */
  readonly user: string | null;
  readonly service: ServiceStart;
  /** A function, so that printing an Environment shows no secret. */
  readonly entries: () => readonly (readonly [name: string, value: string])[];
};

/** What the manager of services passed to this process, as systemd and our launcher write it. */
export type ServiceStart = {
  /** Sockets that are open already, from descriptor 3 on. */
  readonly sockets: number;
  /** The descriptor that the manager reads; null: it is told nothing. */
  readonly notifyFd: number | null;
  /** How often the manager wants to hear from this process; null: it does not wait for that. */
  readonly watchdogMs: number | null;
};

type Variables = Readonly<Record<string, string | undefined>>;
type Account = { readonly username: string; readonly homedir: string };

/** The only place that reads process.env; the values are those of this moment. */
export function readEnvironment(
  variables: Variables = process.env,
  account: Account | null = systemAccount(),
): Environment {
  const entries = Object.entries(variables).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const user = account?.username ?? variables.USER ?? '';
  return {
    state: variables.PALISADE_STATE ?? null,
    xdgStateHome: variables.XDG_STATE_HOME || null,
    home: variables.HOME || account?.homedir || null,
    // The convention of no-color.org: set and not empty.
    noColor: (variables.NO_COLOR ?? '') !== '',
    user: isName(user) ? user : null,
    service: serviceStart(variables),
    entries: () => entries,
  };
}

/** Boundary: variables that are meant for another process (a parent that passed its own on) name descriptors of that one. */
function serviceStart(variables: Variables): ServiceStart {
  const own = String(process.pid);
  const numberOf = (name: string) =>
    /^[1-9]\d{0,14}$/.test(variables[name] ?? '') ? Number(variables[name]) : null;
  const isWatched = (variables.WATCHDOG_PID ?? own) === own;
  const watchdogUs = isWatched ? numberOf('WATCHDOG_USEC') : null;
  return {
    sockets: variables.LISTEN_PID === own ? (numberOf('LISTEN_FDS') ?? 0) : 0,
    notifyFd: numberOf('PALISADE_NOTIFY_FD'),
    watchdogMs: watchdogUs === null ? null : watchdogUs / 1000,
  };
}

/** The variables that match any of the patterns, for the redactor alone. */
export function secretsOf(env: Environment, patterns: readonly string[]): readonly Secret[] {
  return env
    .entries()
    .filter(([name]) => patterns.some((pattern) => matchesPattern(pattern, name)))
    .map(([name, value]) => ({ name, value }));
}

/** Who the kernel says we are; the variable USER can be set to anything. */
function systemAccount(): Account | null {
  try {
    return userInfo();
  } catch {
    // A user id without an account, as in many containers.
    return null;
  }
}

type StateDirOrigin =
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
  // The XDG convention says to ignore a relative path.
  if (env.xdgStateHome !== null && isAbsolute(env.xdgStateHome)) {
    return checked(join(env.xdgStateHome, 'palisade'), 'environment XDG_STATE_HOME', cwd);
  }
  if (env.home === null) {
    throw wrongUsage('the home directory is unknown, expected --state DIR or the variable PALISADE_STATE');
  }
  return checked(join(env.home, '.local', 'state', 'palisade'), 'default', cwd);
}

/** The flag that a command of another process needs to find this state directory; empty for the default one. */
export function stateFlag(stateDir: string, env: Choice['env']): string {
  const usual = orElse(() => chooseStateDir({ env: { ...env, state: null }, cwd: '/' }).path, null);
  return usual === resolve(stateDir) ? '' : ` --state ${shellWord(resolve(stateDir))}`;
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
