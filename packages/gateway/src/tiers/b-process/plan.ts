/**
 * Tier B as data: a native command under limits. The command comes with every word checked and may be hostile once it
 * runs. The launcher sets the limits, takes away privileges and system calls, and ends the whole tree; this is resource
 * control and says so: without more help from the kernel the command reads what its user may read. What this machine
 * cannot hold is refused here, never left out. The plan starts nothing, opens nothing and looks at nothing.
 */
import type { ProcessTerms } from '../../core/process.ts';
import {
  hasNetwork,
  type NetworkPass,
  type NetworkPlan,
  networkVariables,
  networkWords,
  planNetwork,
} from '../network/plan.ts';
import { checkFilter, checkIdentity, checkTerms } from '../process/check-terms.ts';
import {
  type AsRoot,
  environmentWords,
  identityWords,
  limitFacts,
  limitWords,
  type PlanRefusal,
  type Standing,
  unenforceable,
} from '../process/plan.ts';

/** What the probe found on this machine. */
export type ProcessHost = {
  /** User, PID, mount and IPC namespaces can be made by the user that the run gets. */
  readonly hasNamespaces: boolean;
  readonly hasLandlock: boolean;
  /** The filter that `filterOfB` names for these terms. */
  readonly seccomp: Uint8Array;
  /** How many groups the run joins. */
  readonly cgroupDescriptors: number;
  readonly asRoot: AsRoot | null;
  /** For a run that has a network. */
  readonly pass: NetworkPass;
  readonly hasStreams?: boolean;
  /** Whether the user of commands can walk to the workspace; only asked where that is another user. */
  readonly isReachable: boolean;
  /** Threads that the user of the run has now; the kernel counts them all when there are no namespaces. */
  readonly ownThreads: number;
};

/** What a descriptor is for; their numbers are 3, 4, … in the order of the list. */
export type ProcessDescriptor =
  | { readonly role: 'status' }
  | { readonly role: 'control' }
  | { readonly role: 'words' }
  | { readonly role: 'seccomp'; readonly bytes: Uint8Array }
  | { readonly role: 'workspace' }
  | { readonly role: 'map'; readonly asRoot: AsRoot }
  | { readonly role: 'cgroup'; readonly index: number }
  | { readonly role: 'handles'; readonly count: number }
  | { readonly role: 'stream'; readonly way: 'in' | 'out' };

/** What the launcher must report, or the run does not count as held. Names are without "fact.". */
export type ProcessExpectation = {
  readonly equal: Readonly<Record<string, string>>;
  /** Namespaces that must differ from the gateway's own. */
  readonly newNamespaces: readonly string[];
  readonly landlock: boolean;
};

export type ProcessPlan = {
  readonly ok: true;
  /** The first words of the launcher: they make the place for the command, and say where more will come. */
  readonly words: readonly string[];
  /** What it is told then. */
  readonly told: readonly string[];
  readonly descriptors: readonly ProcessDescriptor[];
  readonly network: NetworkPlan | null;
  readonly expected: ProcessExpectation;
};

const FIRST_DESCRIPTOR = 3;
/** The first process of a new PID namespace is the launcher's own and counts as one of the run. */
const REAPERS = 1;

/** The filters of this tier, by the sockets that they leave. */
export const FILTERS_B = {
  local: { unixSockets: false, inet: false },
  inet: { unixSockets: false, inet: true },
} as const;

/** Which filter a run gets; with no network at all nothing else in this tier would stop its sockets. */
export function filterOfB(terms: ProcessTerms): keyof typeof FILTERS_B {
  return terms.egress === 'strict' && !hasNetwork(terms) ? 'local' : 'inet';
}

/** Turns checked terms into the words of the launcher, or refuses; what it returns holds every limit of the terms. */
export function planB(terms: ProcessTerms, host: ProcessHost): ProcessPlan | PlanRefusal {
  const refusal =
    checkTerms(terms) ??
    checkIdentity(host.asRoot) ??
    checkFilter(host.seccomp) ??
    checkProtection(terms) ??
    checkNetwork(terms, host) ??
    checkWalls(terms, host);
  if (refusal !== null) return refusal;

  // Names lead to no doors in this tier: its runs have the files of the host.
  const network = planNetwork(terms, false);
  const descriptors = listDescriptors(host, network);
  const standing = standingOf(host);
  const words = [
    'mode=run',
    ...descriptorWords(descriptors),
    ...identityOf(host, descriptors),
    ...(host.hasNamespaces ? ['ns=1'] : []),
    ...(network === null ? [] : networkWords(network, numberOf('handles', descriptors))),
  ];
  const told = [
    ...limitWords(terms.limits, standing),
    ...cwdWords(terms, host),
    ...landlockWords(terms, host),
    ...environmentWords({ ...terms.env, ...(network === null ? {} : networkVariables(network, host.pass)) }),
    'facts=1',
    '--',
    terms.executable,
    ...terms.argv,
  ];
  return { ok: true, words, told, descriptors, network, expected: expectation(terms, host, standing) };
}

function checkProtection(terms: ProcessTerms): PlanRefusal | null {
  const [first] = terms.protectedPaths;
  if (first === undefined) return null;
  return unenforceable(
    `Cannot protect "${first}": tier B lets a run write to all of its workspace, expected no protected paths`,
    'Run the command in tier C, or leave the protection to the list of changes after the run.',
  );
}

/** Boundary: what holds a list of hosts is a network of the run's own; without one there is nothing to hold it with. */
function checkNetwork(terms: ProcessTerms, host: ProcessHost): PlanRefusal | null {
  if (!hasNetwork(terms)) return null;
  if (!host.hasNamespaces) {
    return unenforceable(
      'Cannot hold the network to a list of hosts in tier B: there are no user namespaces here, expected a network of its own for the run',
      'Allow user namespaces, run the command in tier C, or ask for no hosts.',
    );
  }
  if (host.pass.trusted === null) return null;
  return unenforceable(
    'Cannot open TLS in tier B: its runs trust the certificates of the host, expected a tier with files of its own',
    'Run the command in tier C, or take its hosts out of `process.egress_intercept`.',
  );
}

/** Boundary: as the gateway's own user and without a wall the command could read and signal the gateway itself. */
function checkWalls(terms: ProcessTerms, host: ProcessHost): PlanRefusal | null {
  if (host.asRoot !== null && !host.isReachable) {
    return unenforceable(
      `Cannot enter "${terms.workspace}": the user of commands cannot walk to it, expected directories that others may enter`,
      'Run the command in tier C, or put the workspace below directories of mode 0711 or wider.',
    );
  }
  if (host.asRoot !== null || host.hasNamespaces || usesLandlock(terms, host)) return null;
  return unenforceable(
    'Cannot run in tier B: there are no user namespaces here and Landlock would take the network, expected one of them to keep the command from the gateway',
    'Ask for egress "strict", allow user namespaces, or run the gateway as root.',
  );
}

function listDescriptors(host: ProcessHost, network: NetworkPlan | null): readonly ProcessDescriptor[] {
  const cgroups = Array.from(
    { length: host.cgroupDescriptors },
    (_, index) => ({ role: 'cgroup', index }) as const,
  );
  const { asRoot } = host;
  const workspace = asRoot === null ? [] : [{ role: 'workspace' } as const, { role: 'map', asRoot } as const];
  const seccomp = { role: 'seccomp', bytes: host.seccomp } as const;
  const handles = network === null ? [] : [{ role: 'handles', count: network.listeners.length } as const];
  const all = [{ role: 'status' }, { role: 'control' }, { role: 'words' }, seccomp] as const;
  return [...(host.hasStreams === true ? STREAMS : []), ...all, ...workspace, ...cgroups, ...handles];
}

/** The first of all, so that the command knows their numbers. */
const STREAMS = [
  { role: 'stream', way: 'in' },
  { role: 'stream', way: 'out' },
] as const;

const NAMED_ELSEWHERE: ReadonlySet<string> = new Set(['workspace', 'map', 'handles']);

function descriptorWords(descriptors: readonly ProcessDescriptor[]): readonly string[] {
  return descriptors.flatMap(({ role }, index) => {
    if (NAMED_ELSEWHERE.has(role)) return [];
    return [`${role === 'stream' ? 'keep' : role}=${FIRST_DESCRIPTOR + index}`];
  });
}

function identityOf({ asRoot }: ProcessHost, descriptors: readonly ProcessDescriptor[]): readonly string[] {
  if (asRoot === null) return [];
  const numbers = { workspaceFd: numberOf('workspace', descriptors), mapFd: numberOf('map', descriptors) };
  return [...identityWords(asRoot, numbers), 'chdir=1'];
}

function numberOf(wanted: ProcessDescriptor['role'], descriptors: readonly ProcessDescriptor[]): number {
  return FIRST_DESCRIPTOR + descriptors.findIndex(({ role }) => role === wanted);
}

function cwdWords(terms: ProcessTerms, { asRoot }: ProcessHost): readonly string[] {
  if (asRoot === null) return [`cwd=${terms.cwd}`];
  // The descriptor leads to the workspace even where the run's user cannot walk to it; the rest is relative to it.
  return terms.cwd === terms.workspace ? [] : [`cwd=.${terms.cwd.slice(terms.workspace.length)}`];
}

function landlockWords(terms: ProcessTerms, host: ProcessHost): readonly string[] {
  return usesLandlock(terms, host) ? ['ro=/', 'rw=/dev', 'rw=/tmp', `rw=${terms.workspace}`] : [];
}

/** Landlock takes TCP away as well, so it can only stand in where the run was to have no network. */
function usesLandlock(terms: ProcessTerms, host: ProcessHost): boolean {
  return !host.hasNamespaces && host.hasLandlock && terms.egress === 'strict' && !hasNetwork(terms);
}

function standingOf(host: ProcessHost): Standing {
  // RLIMIT_NPROC counts a user's threads; in a user namespace of its own those are the run's alone.
  const others = host.hasNamespaces ? REAPERS : host.ownThreads;
  return { others, hasGroup: host.cgroupDescriptors > 0 };
}

function expectation(terms: ProcessTerms, host: ProcessHost, standing: Standing): ProcessExpectation {
  const { asRoot } = host;
  const ids = asRoot === null ? {} : { uid: String(asRoot.uid), gid: String(asRoot.gid), groups: '' };
  return {
    equal: {
      ...ids,
      ...{ nnp: '1', seccomp: '2' },
      ...(hasNetwork(terms) ? { interfaces: 'lo' } : {}),
      ...limitFacts(terms.limits, standing),
    },
    newNamespaces: [
      ...(host.hasNamespaces ? ['user', 'pid', 'mnt', 'ipc'] : []),
      ...(hasNetwork(terms) ? ['net'] : []),
    ],
    landlock: usesLandlock(terms, host),
  };
}
