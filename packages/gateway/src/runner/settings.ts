import type { Config } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import type { EgressMode, ProcessLimits } from '../core/process.ts';
import { type AllowList, NOWHERE } from '../egress/allowlist.ts';
import { KnownPrograms } from './classify.ts';
import { FileDigests } from './executable.ts';
import { allowListOf, type HostSet, interceptedBy } from './host-lists.ts';
import { resolvePath } from './resolve-path.ts';
import { type GrantedSecrets, grantSecrets } from './secrets.ts';
import type { RunnerDeps } from './terms.ts';
import type { ForbiddenPaths } from './workspace.ts';

/** What configuration says about commands. Paths are absolute; the roots and the read-only paths have no links left. */
export type RunnerSettings = {
  /** A call's workspace is one of these or below one; empty: nothing can run. */
  readonly workspaceRoots: readonly string[];
  readonly defaultWorkspace: string | null;
  /** Absolute paths, or names that are looked up on the search path. */
  readonly allowedExecutables: 'any' | readonly string[];
  /** Where a name is looked up. The caller's PATH, the workspace and the working directory are never searched. */
  readonly searchPath: readonly string[];
  /** Names of variables that a caller may set; `*` matches any characters. The never-list still applies. */
  readonly envAllow: readonly string[];
  /** Paths, besides the system's own, that a run may read and that arguments may name. */
  readonly readOnly: readonly string[];
  /** Paths in the workspace, relative to it, that a run must not change. */
  readonly protectedPaths: readonly string[];
  readonly defaults: ProcessLimits;
  readonly ceilings: ProcessLimits;
  /** The most that a run can reach. */
  readonly egressHosts: AllowList;
  /** The hosts to which the proxy of a strict run opens TLS. */
  readonly isIntercepted: HostSet;
  readonly secrets: GrantedSecrets;
  /** The least strict network mode that a call may request. */
  readonly loosestEgress: EgressMode;
  /** HOME of the run; null: its workspace, so that no configuration of the host's user is read or written. */
  readonly home: string | null;
  readonly tmpDir: string;
};

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** Enough for a compiler and a test run; not enough to overload the machine. */
const DEFAULT_PROCESS_LIMITS: ProcessLimits = {
  wallMs: 60_000,
  cpuMs: 60_000,
  memoryBytes: GIB,
  outputBytes: MIB,
  fileBytes: 256 * MIB,
  processes: 128,
  openFiles: 1024,
  egressBytes: 256 * MIB,
};

const PROCESS_LIMIT_CEILINGS: ProcessLimits = {
  wallMs: 15 * 60_000,
  cpuMs: 15 * 60_000,
  memoryBytes: 8 * GIB,
  outputBytes: 64 * MIB,
  fileBytes: 8 * GIB,
  processes: 1024,
  openFiles: 65_536,
  egressBytes: GIB,
};

/** Lets git, gcc, make and python work in a workspace once the operator names one. */
export const DEFAULT_SETTINGS: RunnerSettings = {
  workspaceRoots: [],
  defaultWorkspace: null,
  allowedExecutables: 'any',
  searchPath: ['/usr/local/bin', '/usr/bin', '/bin'],
  envAllow:
    `LANG LANGUAGE LC_* TZ TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI
    SOURCE_DATE_EPOCH`.split(/\s+/),
  readOnly: [],
  protectedPaths: [],
  defaults: DEFAULT_PROCESS_LIMITS,
  ceilings: PROCESS_LIMIT_CEILINGS,
  egressHosts: NOWHERE,
  isIntercepted: () => false,
  secrets: new Map(),
  loosestEgress: 'strict',
  home: null,
  tmpDir: '/tmp',
};

const EVERY_PROGRAM = '*';

/**
 * The settings that a configuration gives, as the file system is now; `cwd` is where palisade was started, null if that
 * is irrelevant.
 */
export function settingsOf({ process, ceilings, secrets }: Config, cwd: string | null): RunnerSettings {
  const here = cwd === null ? [] : [cwd];
  const roots = process.workspaces.length > 0 ? process.workspaces : here;
  const highest = eachLimit((name) =>
    name in ceilings
      ? ceilings[name as keyof typeof ceilings]
      : Math.max(DEFAULT_SETTINGS.ceilings[name], process[name]),
  );
  return {
    ...DEFAULT_SETTINGS,
    workspaceRoots: roots.map(settle),
    defaultWorkspace: cwd ?? roots[0] ?? null,
    allowedExecutables: process.executables.includes(EVERY_PROGRAM) ? 'any' : process.executables,
    searchPath: process.searchPath,
    envAllow: process.env,
    readOnly: process.readOnly.map(settle),
    protectedPaths: process.protected,
    // A default never passes a ceiling that the operator lowered.
    defaults: eachLimit((name) => Math.min(process[name], highest[name])),
    ceilings: highest,
    egressHosts: allowListOf(process.egressHosts),
    isIntercepted: interceptedBy(process.egressIntercept),
    secrets: grantSecrets(secrets),
    loosestEgress: process.egress,
  };
}

function eachLimit(limitOf: (name: keyof ProcessLimits) => number): ProcessLimits {
  const names = Object.keys(PROCESS_LIMIT_CEILINGS) as (keyof ProcessLimits)[];
  return Object.fromEntries(names.map((name) => [name, limitOf(name)])) as ProcessLimits;
}

/** Boundary: links in what the operator named are followed once, now; later changes by a run have no effect. */
function settle(path: string): string {
  return resolvePath(path, '/').path;
}

/** The context for parsing commands: those of callers, and those that start upstream servers. */
type OpenedRunner = { readonly settings: () => RunnerSettings; readonly deps: () => RunnerDeps };

export function openRunner(
  config: Config,
  here: ForbiddenPaths & { readonly cwd: string | null },
  clock: Clock,
): OpenedRunner {
  const { cwd, ...forbidden } = here;
  const settings = settingsOf(config, cwd);
  const digests = new FileDigests(clock);
  const known = new KnownPrograms(settings.searchPath, digests);
  return { settings: () => settings, deps: () => ({ known, digests, forbidden }) };
}
