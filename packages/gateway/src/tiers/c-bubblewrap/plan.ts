/**
 * Tier C on Linux as data: the arguments of bubblewrap that define the jail. The terms arrive checked; the command
 * inside is hostile, and so is everything that it ever wrote to the workspace. The jail is an empty root in memory with
 * the system read-only, a synthetic /etc, sized file systems in memory and one writable bind, in namespaces of its own,
 * without capabilities, under a filter, with the launcher as its first process. What this machine's bubblewrap cannot
 * enforce is refused here, never left out. The plan starts nothing, opens nothing and inspects nothing.
 */
import type { Refused } from '../../core/outcome.ts';
import { isWithin } from '../../core/paths.ts';
import type { ProcessTerms } from '../../core/process.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { type NetworkPass, type NetworkPlan, networkVariables } from '../network/plan.ts';
import { commandWords, judgedWord } from '../process/command-words.ts';
import {
  checkFilter,
  checkIdentity,
  checkTerms,
  type Expectation,
  environmentWords,
  type LimitContext,
  limitFacts,
  limitWords,
  type RunPlace,
  type TierPlan,
  unenforceable,
} from '../process/plan.ts';
import { type Jail, recallJail } from './jail.ts';
import * as mounts from './mounts.ts';
import {
  checkExecutable,
  checkReadOnly,
  listPinned,
  moveInside,
  placeWorkspace,
  type WorkspacePlace,
} from './mounts.ts';
import { type BwrapVersion, isAtLeast, NESTED_MOUNTS_SINCE, REQUIRED_OPTIONS } from './probe.ts';
import {
  DEVICE_MOUNTS,
  JAIL_COPIES,
  JAIL_HOME,
  JAIL_ID,
  JAIL_PATH,
  JAIL_SHELL,
  JAIL_SHM,
  JAIL_TMP,
  JAIL_USER,
} from './root.table.ts';

/** What the probe found on this machine, for one run. */
export type JailHost = RunPlace & {
  readonly bwrap: string;
  readonly bwrapVersion: BwrapVersion;
  readonly bwrapOptions: readonly string[];
  /** The filter of FILTERS_C for these terms. */
  readonly seccomp: Uint8Array;
  /** Which of SYSTEM_ROOTS exist. */
  readonly systemRoots: readonly mounts.HostPath[];
  /** Which of ETC_BINDS exist. */
  readonly etc: readonly mounts.HostPath[];
  /** Which of HIDDEN_FILES exist. */
  readonly hidden: readonly mounts.HostPath[];
  /** Whether the launcher can make the connections of Unix sockets on this machine. */
  readonly canConnect: boolean;
  /** The jails that were laid out for these findings. */
  readonly jails?: Map<string, Jail>;
};

/**
 * The filters of this tier, by whose network the run has. Network sockets are permitted, as programs talk to themselves;
 * the network namespace decides what they can reach. The interfaces of the host are not shown. Unix sockets need the
 * launcher, which connects them, and a network of the run, as names without a path are those of the network.
 */
export const FILTERS_C = {
  connected: { unixSockets: true, inet: true, interfaces: true },
  own: { unixSockets: false, inet: true, interfaces: true },
  shared: { unixSockets: false, inet: true, interfaces: false },
} as const;

/** Which filter a run gets. */
export function filterOfC(
  { egress }: Pick<ProcessTerms, 'egress'>,
  { canConnect }: Pick<JailHost, 'canConnect'>,
): keyof typeof FILTERS_C {
  if (egress !== 'strict') return 'shared';
  return canConnect ? 'connected' : 'own';
}

/** The launcher's arguments for connections; file systems in memory are the run's alone. */
function connectWords(terms: ProcessTerms, host: JailHost): readonly string[] {
  if (filterOfC(terms, host) !== 'connected') return [];
  return ['connects=1', ...[JAIL_TMP, JAIL_HOME, JAIL_SHM].map((path) => `own=${path}`)];
}

/** Bubblewrap takes at most 9,000 arguments, on its command line and from descriptors together. */
const MOST_WORDS = 9_000;
/** The launcher is the first process of the jail and counts as one of the run. */
const REAPERS = 1;

/** Turns checked terms into a jail, or refuses; the result enforces every term. */
export function planC(terms: ProcessTerms, host: JailHost): Result<TierPlan, Refused> {
  const refusal =
    checkTerms(terms) ?? checkHost(host) ?? checkProtection(terms, host) ?? checkExecutable(terms);
  if (refusal !== null) return reject(refusal);
  const place = placeWorkspace(terms.workspace);
  const bound = withoutEtc(terms, host);
  const plan = layOut(bound, host, place);
  const unfit = checkReadOnly(bound, place.inside) ?? checkLength(plan);
  return unfit === null ? accept(plan) : reject(unfit);
}

/** The terms without read-only paths that every jail shows anyway. */
function withoutEtc(terms: ProcessTerms, host: JailHost): ProcessTerms {
  if (terms.readOnly.length === 0) return terms;
  const shown = mounts.shownEtc(host.etc, terms.egress !== 'strict');
  const readOnly = terms.readOnly.filter((path) => !shown.some((row) => isWithin(path, row.path)));
  return { ...terms, readOnly };
}

function layOut(terms: ProcessTerms, host: JailHost, place: WorkspacePlace): TierPlan {
  const { words, args, descriptors, network, ...jail } = recallJail(terms, host, place);
  const context = {
    others: REAPERS,
    hasGroup: host.cgroups > 0,
    countsCpu: host.countsCpu === true,
  };
  const told = [
    'mode=run',
    ...limitWords(terms, context),
    ...connectWords(terms, host),
    ...[`status=${jail.statusFd}`, `control=${jail.controlFd}`],
    ...jail.ports,
    judgedWord('cwd', terms, moveInside(terms.cwd, terms.workspace, place.inside)),
    ...environmentWords(insideEnvironment(terms, network, host.pass)),
    ...jail.streams,
    ...commandWords(terms, {
      inside: (path) => moveInside(path, terms.workspace, place.inside),
      copies: JAIL_COPIES,
    }),
  ];
  const expected = expectation(terms, place.inside, { ...context, filter: filterOfC(terms, host) });
  return { words, args, told, descriptors, network, expected };
}

function insideEnvironment(
  terms: ProcessTerms,
  network: NetworkPlan | null,
  pass: NetworkPass,
): ProcessTerms['env'] {
  const ofNetwork = networkVariables(terms, network, pass);
  const user = { USER: JAIL_USER, LOGNAME: JAIL_USER, SHELL: JAIL_SHELL };
  return { PATH: JAIL_PATH, ...terms.env, ...ofNetwork, ...user, HOME: JAIL_HOME, TMPDIR: JAIL_TMP };
}

function checkHost(host: JailHost): Refused | null {
  const missing = REQUIRED_OPTIONS.find((option) => !host.bwrapOptions.includes(option));
  if (missing !== undefined) {
    return unenforceable(
      `Cannot build a jail: bubblewrap ${host.bwrapVersion.join('.')} lacks ${missing}, expected a version that has it`,
      'Install bubblewrap 0.12 or newer, or the security update of your distribution.',
    );
  }
  return checkIdentity(host.asRoot) ?? checkFilter(host.seccomp);
}

function checkProtection(terms: ProcessTerms, host: JailHost): Refused | null {
  const [first] = terms.protectedPaths;
  // Boundary: older versions follow links of the workspace to the host when they create a mount point below it.
  const isSafe = isAtLeast(host.bwrapVersion, NESTED_MOUNTS_SINCE);
  const canBind = host.bwrapOptions.includes('--ro-bind-fd');
  if (first === undefined || (isSafe && canBind)) return null;
  return unenforceable(
    `Cannot protect "${first}" in the workspace: bubblewrap is ${host.bwrapVersion.join('.')}, expected ${NESTED_MOUNTS_SINCE.join('.')} or newer`,
    'Install bubblewrap 0.12 or newer, or remove the path from `process.protected`: changes are listed after the run anyway.',
  );
}

function checkLength({ words: outer, args }: TierPlan): Refused | null {
  const words = outer.length + args.length;
  if (words <= MOST_WORDS) return null;
  return unenforceable(
    `Cannot build the jail: it takes ${words} arguments, expected at most ${MOST_WORDS}`,
    'Name fewer paths in `process.read_only`, variables or arguments.',
  );
}

const NO_CAPABILITIES = '0000000000000000';
const CAPABILITY_SETS = ['capinh', 'capprm', 'capeff', 'capbnd', 'capamb'];

/**
 * The facts that prove the plan of these terms. The user outside is not among them: it is not visible inside nested user
 * namespaces, so it is checked from outside.
 */
export function expectation(
  terms: ProcessTerms,
  inside: string,
  context: LimitContext & { readonly filter: keyof typeof FILTERS_C },
): Expectation {
  const isStrict = terms.egress === 'strict';
  const id = String(JAIL_ID);
  const network = isStrict ? { interfaces: 'lo' } : {};
  const pinned = listPinned(terms.protectedPaths).map((path) => `${inside}/${path}`);
  const writable = [...DEVICE_MOUNTS, JAIL_SHM, JAIL_TMP, JAIL_HOME, inside, ...pinned];
  return {
    equal: {
      ...{ uid: id, gid: id, nnp: '1', seccomp: '2' },
      ...Object.fromEntries(CAPABILITY_SETS.map((set) => [set, NO_CAPABILITIES])),
      ...network,
      // Boundary: with Unix sockets and without the launcher in between, a command would reach those of the host.
      connects: context.filter === 'connected' ? '1' : '0',
      ...limitFacts(terms.limits, context),
    },
    newNamespaces: ['user', 'pid', 'mnt', 'ipc', 'uts', 'cgroup', ...(isStrict ? ['net'] : [])],
    // Every mount that is not read-only, as the launcher writes it.
    within: { mounts_rw: writable.map(mounts.mountFact).sort() },
  };
}
