import type { Config } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import { type PortRange, parsePortRange } from '../core/ports.ts';
import type {
  EgressMode,
  GitIdentity,
  OutputOverflow,
  ProcessLimits,
  ProcessTierName,
} from '../core/process.ts';
import { PROTECTED_NAMES, type ProtectedName } from '../core/protected.table.ts';
import { type AllowList, NOWHERE } from '../egress/allowlist.ts';
import { KnownPrograms } from './classify.ts';
import { FileDigests } from './executable.ts';
import { ForbiddenPlaces, type Owner, settle } from './forbidden.ts';
import { allowListOf, type HostSet, interceptedBy } from './host-lists.ts';
import { demandRoot, findRoots, type RootGrants, type WorkspaceRoots } from './roots.ts';
import { type GrantedSecrets, grantSecrets } from './secrets.ts';
import type { RunnerDeps } from './terms.ts';
import { findToolHomes, NO_TOOLS, type ShownTools, toolHomeWith } from './tool-homes.ts';

/** What configuration says about commands. Paths are absolute; the roots and the read-only paths have no links left. */
export type RunnerSettings = {
  /** A call's workspace is one of these or below one; empty: nothing can run. */
  readonly workspaceRoots: readonly string[];
  readonly defaultWorkspace: string | null;
  /** Why the directory that palisade was started in is a root or is not; null if that is irrelevant. */
  readonly startedIn: string | null;
  readonly tiers: { readonly floor: ProcessTierName; readonly default: ProcessTierName };
  /** Those that may run in a tier that does not confine what they start: as `allowedExecutables`. */
  readonly interpreters: 'any' | readonly string[];
  /** Absolute paths, or names that are looked up on the search path. */
  readonly allowedExecutables: 'any' | readonly string[];
  /** Where a name is looked up. The caller's PATH, the workspace and the working directory are never searched. */
  readonly searchPath: readonly string[];
  /** Names of variables that a caller may set; `*` matches any characters. The never-list still applies. */
  readonly envAllow: readonly string[];
  /** The variables are the operator's own, for an MCP server: fewer are out of the question. */
  readonly envOfOperator?: true;
  /** Paths, besides the system's own, that a run may read and that arguments may name. */
  readonly readOnly: readonly string[];
  /** What a path outside in an argument does in tier C; in tier B it refuses. */
  readonly argumentPaths: 'inform' | 'refuse';
  /** What is shown of the tools in the operator's home; its programs are on the search path already. */
  readonly tools: ShownTools;
  /** The tool home that is not granted and has a program of this name. */
  readonly toolHomeWith: (program: string) => string | null;
  readonly gitIdentity: GitIdentity | null;
  /** Paths in the workspace, relative to it, that a run must not change. */
  readonly protectedPaths: readonly string[];
  /** The protected files that a call may ask to write. */
  readonly allowedWrites: readonly ProtectedName[];
  /** The ports of the host that a call may ask for. */
  readonly ports: readonly PortRange[];
  readonly defaults: ProcessLimits;
  readonly ceilings: ProcessLimits;
  readonly outputOverflow: OutputOverflow;
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

/** Enough for a build and a test run, also on two processors at once; not enough to overload the machine. */
const DEFAULT_PROCESS_LIMITS: ProcessLimits = {
  wallMs: 10 * 60_000,
  cpuMs: 20 * 60_000,
  memoryBytes: 2 * GIB,
  outputBytes: MIB,
  fileBytes: 256 * MIB,
  processes: 512,
  openFiles: 1024,
  egressBytes: 256 * MIB,
};

const PROCESS_LIMIT_CEILINGS: ProcessLimits = {
  wallMs: 60 * 60_000,
  cpuMs: 2 * 60 * 60_000,
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
  startedIn: null,
  tiers: { floor: 'b', default: 'c' },
  interpreters: [],
  allowedExecutables: 'any',
  searchPath: ['/usr/local/bin', '/usr/bin', '/bin'],
  envAllow:
    `LANG LANGUAGE LC_* TZ TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI
    SOURCE_DATE_EPOCH`.split(/\s+/),
  readOnly: [],
  argumentPaths: 'inform',
  tools: NO_TOOLS,
  toolHomeWith: () => null,
  gitIdentity: null,
  protectedPaths: [],
  allowedWrites: [],
  ports: [],
  defaults: DEFAULT_PROCESS_LIMITS,
  ceilings: PROCESS_LIMIT_CEILINGS,
  outputOverflow: 'cut',
  egressHosts: NOWHERE,
  isIntercepted: () => false,
  secrets: new Map(),
  loosestEgress: 'strict',
  home: null,
  tmpDir: '/tmp',
};

const EVERY_PROGRAM = '*';

/** The settings that a configuration gives, as the file system is now; without roots, nothing can run. */
export function settingsOf(
  { process, ceilings, secrets }: Config,
  granted: WorkspaceRoots | null,
): RunnerSettings {
  const highest = eachLimit((name) =>
    name in ceilings
      ? ceilings[name as keyof typeof ceilings]
      : Math.max(DEFAULT_SETTINGS.ceilings[name], process[name]),
  );
  return {
    ...DEFAULT_SETTINGS,
    workspaceRoots: granted?.roots ?? [],
    defaultWorkspace: granted?.defaultWorkspace ?? null,
    startedIn: granted?.startedIn ?? null,
    tiers: { floor: process.tierFloor, default: process.tierDefault },
    interpreters: programsOf(process.interpreters),
    allowedExecutables: programsOf(process.executables),
    searchPath: process.searchPath,
    envAllow: process.env,
    readOnly: process.readOnly.map(settle),
    argumentPaths: process.argumentPaths,
    protectedPaths: process.protected,
    allowedWrites: PROTECTED_NAMES.filter((name) => process.allowWrites.includes(name)),
    ports: process.ports.flatMap((entry) => parsePortRange(entry) ?? []),
    // A default never passes a ceiling that the operator lowered.
    defaults: eachLimit((name) => Math.min(process[name], highest[name])),
    ceilings: highest,
    outputOverflow: process.outputOverflow,
    egressHosts: allowListOf(process.egressHosts),
    isIntercepted: interceptedBy(process.egressIntercept),
    secrets: grantSecrets(secrets),
    loosestEgress: process.egress,
  };
}

function programsOf(listed: readonly string[]): 'any' | readonly string[] {
  return listed.includes(EVERY_PROGRAM) ? 'any' : listed;
}

function eachLimit(limitOf: (name: keyof ProcessLimits) => number): ProcessLimits {
  const names = Object.keys(PROCESS_LIMIT_CEILINGS) as (keyof ProcessLimits)[];
  return Object.fromEntries(names.map((name) => [name, limitOf(name)])) as ProcessLimits;
}

/** The context for parsing commands: those of callers, and those that start upstream servers. */
type OpenedRunner = {
  readonly settings: () => RunnerSettings;
  readonly deps: () => RunnerDeps;
  /** Where commands may work, for operators to see. */
  readonly workspaces: WorkspaceRoots;
};

/** What the operator granted besides the configuration, and to whom the gateway belongs. */
type RunnerPlace = Owner &
  Omit<RootGrants, 'configured'> & {
    readonly upstreams: Config['upstreams'];
    /** Paths and tool homes of the command line, besides those of the configuration. */
    readonly readOnly?: readonly string[];
    readonly toolHomes?: readonly string[];
    /** The operator's own, for `process.git_identity = "host"`. */
    readonly gitIdentity?: GitIdentity | null;
  };

/** Refuses a configuration that grants a forbidden directory. */
export function openRunner(config: Config, place: RunnerPlace, clock: Clock): OpenedRunner {
  const forbidden = new ForbiddenPlaces(place);
  const workspaces = findRoots({ ...place, configured: config.process.workspaces }, forbidden);
  for (const { name, workspace } of place.upstreams)
    if (workspace !== null) demandRoot(workspace, `the workspace of upstream "${name}"`, forbidden);
  const settings = withGrants(settingsOf(config, workspaces), config, place);
  const digests = new FileDigests(clock);
  const known = new KnownPrograms(settings.searchPath, digests);
  return { settings: () => settings, deps: () => ({ known, digests, forbidden }), workspaces };
}

function withGrants(settings: RunnerSettings, { process }: Config, place: RunnerPlace): RunnerSettings {
  const { readOnly = [], toolHomes = [], gitIdentity = null } = place;
  const tools = findToolHomes([...process.toolHomes, ...toolHomes], place.home);
  return {
    ...settings,
    readOnly: [...settings.readOnly, ...readOnly.map(settle)],
    tools,
    toolHomeWith: (program) => toolHomeWith(program, place.home),
    // As in the operator's own shell, where the versions of a home come before those of the system.
    searchPath: [...tools.searchPath, ...settings.searchPath],
    gitIdentity: process.gitIdentity === 'host' ? gitIdentity : null,
  };
}
