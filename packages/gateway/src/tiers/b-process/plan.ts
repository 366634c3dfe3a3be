/**
 * Tier B as data: a native command under limits. The command arrives with every argument checked and may be hostile
 * once it runs. The launcher sets limits, removes privileges and system calls, and ends the whole tree; this is
 * resource control and says so: without more help from the kernel the command reads what its user can. What this
 * machine cannot enforce is refused here, never left out. The plan starts nothing, opens nothing and inspects nothing.
 */
import type { Refused } from '../../core/outcome.ts';
import type { ProcessTerms } from '../../core/process.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { layOutDescriptors, STATUS } from '../child/child.ts';
import { hasNetwork, networkVariables, networkWords, planNetwork } from '../network/plan.ts';
import { commandWords, isCopiedScript, judgedWord } from '../process/command-words.ts';
import {
  checkFilter,
  checkIdentity,
  checkTerms,
  type Expectation,
  environmentWords,
  groupWords,
  identityWords,
  type LimitContext,
  limitFacts,
  limitWords,
  type RunPlace,
  streamWords,
  type TierPlan,
  unenforceable,
} from '../process/plan.ts';

/** What the probe found on this machine, for one run. */
export type ProcessHost = RunPlace & {
  readonly hasNamespaces: boolean;
  readonly hasLandlock: boolean;
  /** The filter that `filterOfB` selects for these terms. */
  readonly seccomp: Uint8Array;
  /** Whether the user of commands can reach the workspace; only relevant where that is another user. */
  readonly isReachable: boolean;
  /** Threads that the user of the run has now; without namespaces the kernel counts them all. */
  readonly ownThreads: number;
};

/** The first process of a new PID namespace is the launcher's own and counts as one of the run. */
const REAPERS = 1;

/** The filters of this tier, by the sockets that they permit. */
export const FILTERS_B = {
  local: { unixSockets: false, inet: false, interfaces: false },
  inet: { unixSockets: false, inet: true, interfaces: false },
} as const;

/** Which filter a run gets; without a network, nothing else in this tier would stop its sockets. */
export function filterOfB(terms: ProcessTerms): keyof typeof FILTERS_B {
  return terms.egress === 'strict' && !hasNetwork(terms) ? 'local' : 'inet';
}

/** Turns checked terms into the launcher's arguments, or refuses; the result enforces every limit of the terms. */
export function planB(terms: ProcessTerms, host: ProcessHost): Result<TierPlan, Refused> {
  const refusal =
    checkTerms(terms) ??
    checkIdentity(host.asRoot) ??
    checkFilter(host.seccomp) ??
    checkProtection(terms) ??
    checkNetwork(terms, host) ??
    checkWalls(terms, host) ??
    checkScripts(terms, host);
  if (refusal !== null) return reject(refusal);

  // Host names do not lead to doors in this tier: its runs see the files of the host.
  const network = planNetwork(terms, false);
  const context = limitContext(host);
  const { list, add } = layOutDescriptors();
  const own = [
    ...streamWords(host.hasStreams, add),
    `status=${add(STATUS)}`,
    `control=${add({ role: 'control' })}`,
    `words=${add({ role: 'words' })}`,
    `seccomp=${add({ role: 'bytes', name: 'seccomp', bytes: host.seccomp })}`,
  ];
  const { asRoot } = host;
  const identity =
    asRoot === null ? [] : [...identityWords(asRoot, add({ role: 'workspace' }), add), 'chdir=1'];
  const groups = groupWords(host.cgroups, add);
  const words = [
    ...['mode=run', ...own, ...groups, ...identity],
    ...(host.hasNamespaces ? ['ns=1'] : []),
    ...(network === null ? [] : networkWords(network, add)),
  ];
  const told = [
    ...limitWords(terms, context),
    ...cwdWords(terms, host),
    ...landlockWords(terms, host),
    ...environmentWords({ ...terms.env, ...networkVariables(terms, network, host.pass) }),
    ...commandWords(terms),
  ];
  const expected = expectation(terms, host, context);
  return accept({ words, args: [], told, descriptors: list, network, expected });
}

function checkProtection(terms: ProcessTerms): Refused | null {
  const [first] = terms.protectedPaths;
  if (first === undefined) return null;
  return unenforceable(
    `Cannot protect "${first}": tier B lets a run write to all of its workspace, expected no protected paths`,
    'Set `tier` to "c", or remove the path from `process.protected`: changes are listed after the run anyway.',
  );
}

/** Boundary: a list of hosts is enforced by a network namespace of the run; without one it cannot be enforced. */
function checkNetwork(terms: ProcessTerms, host: ProcessHost): Refused | null {
  if (!hasNetwork(terms)) return null;
  if (!host.hasNamespaces) {
    return unenforceable(
      'Cannot hold the network to a list of hosts in tier B: user namespaces are off, expected a network of its own for the run',
      'Allow user namespaces (`palisade doctor` prints the setting), set `tier` to "c", or set `egress_hosts` to [].',
    );
  }
  if (host.pass.trusted === null) return null;
  return unenforceable(
    'Cannot open TLS in tier B: its runs trust the certificates of the host, expected a tier with files of its own',
    'Set `tier` to "c", or remove its hosts from `process.egress_intercept`.',
  );
}

/** Boundary: as the gateway's own user and without isolation the command could read and signal the gateway itself. */
function checkWalls(terms: ProcessTerms, host: ProcessHost): Refused | null {
  if (host.asRoot !== null && !host.isReachable) {
    return unenforceable(
      `Cannot enter "${terms.workspace}": the user of commands cannot reach it, expected directories that others may enter`,
      'Set `tier` to "c", or let others enter the directories above the workspace: `chmod o+x DIRECTORY`.',
    );
  }
  if (host.asRoot !== null || host.hasNamespaces || usesLandlock(terms, host)) return null;
  return unenforceable(
    'Cannot run in tier B: user namespaces are off and Landlock would block the network, expected one of them to keep the command from the gateway',
    'Set `egress` to "strict", allow user namespaces (`palisade doctor` prints the setting), or run the gateway as root.',
  );
}

/** Boundary: the copy of a script needs a mount that only the run can see. */
function checkScripts({ files }: ProcessTerms, { hasNamespaces }: ProcessHost): Refused | null {
  const script = files.find(isCopiedScript);
  if (script === undefined || hasNamespaces) return null;
  return unenforceable(
    `Cannot hold the script "${script.path}" to its digest in tier B: user namespaces are off, expected a copy that only the run can see`,
    'Allow user namespaces (`palisade doctor` prints the setting), put the script where only root can write, or run its interpreter with the script as an argument.',
  );
}

function cwdWords(terms: ProcessTerms, { asRoot }: ProcessHost): readonly string[] {
  if (asRoot === null) return [judgedWord('cwd', terms, terms.cwd)];
  // The descriptor reaches the workspace even where the run's user cannot; other paths are relative to it.
  const below = `.${terms.cwd.slice(terms.workspace.length)}`;
  return terms.cwd === terms.workspace ? [] : [judgedWord('cwd', terms, below)];
}

function landlockWords(terms: ProcessTerms, host: ProcessHost): readonly string[] {
  if (!usesLandlock(terms, host)) return [];
  return ['ro=/', 'rw=/dev', 'rw=/tmp', judgedWord('rw', terms, terms.workspace)];
}

/** Landlock also blocks TCP, so it can only replace namespaces where the run has no network. */
function usesLandlock(terms: ProcessTerms, host: ProcessHost): boolean {
  return !host.hasNamespaces && host.hasLandlock && terms.egress === 'strict' && !hasNetwork(terms);
}

function limitContext(host: ProcessHost): LimitContext {
  // RLIMIT_NPROC counts a user's threads; in a user namespace of its own those are the run's alone.
  const others = host.hasNamespaces ? REAPERS : host.ownThreads;
  return { others, hasGroup: host.cgroups > 0, countsCpu: host.countsCpu === true };
}

function expectation(terms: ProcessTerms, host: ProcessHost, context: LimitContext): Expectation {
  const { asRoot } = host;
  const ids = asRoot === null ? {} : { uid: String(asRoot.uid), gid: String(asRoot.gid), groups: '' };
  return {
    equal: {
      ...ids,
      ...{ nnp: '1', seccomp: '2' },
      ...(hasNetwork(terms) ? { interfaces: 'lo' } : {}),
      // Boundary: the group of the run may belong to the user of the command, who could leave it.
      ...(host.hasNamespaces ? { cgroups_rw: '' } : {}),
      ...limitFacts(terms.limits, context),
    },
    newNamespaces: [
      ...(host.hasNamespaces ? ['user', 'pid', 'mnt', 'ipc'] : []),
      ...(hasNetwork(terms) ? ['net'] : []),
    ],
    ...(usesLandlock(terms, host) ? { other: { landlock: '0' } } : {}),
  };
}
