import { posix } from 'node:path';
import { type Refused, refuse } from '../../core/outcome.ts';
import { isWithin } from '../../core/paths.ts';
import {
  type AsRoot,
  OUTPUT_FLOOD_BYTES,
  type ProcessLimits,
  type ProcessTerms,
  type ProcessTierName,
} from '../../core/process.ts';
import type { Result } from '../../core/result.ts';
import type { AddDescriptor, Descriptor } from '../child/child.ts';
import type { NetworkPass, NetworkPlan } from '../network/plan.ts';
import type { IsolationGap } from './proof.ts';
import type { Facts } from './tier.ts';

/** A command with its sandbox, as a tier plans it. */
export type TierPlan = {
  /** The arguments of the launcher that is started: they create the sandbox, where the tier has one. */
  readonly words: readonly string[];
  /** Options of bubblewrap, which are passed through a descriptor, each followed by a NUL. */
  readonly args: readonly string[];
  /** The arguments of the launcher that runs the command, sent once it waits: everything that concerns the command. */
  readonly told: readonly string[];
  readonly descriptors: readonly Descriptor[];
  /** Null where the run has no network of its own. */
  readonly network: NetworkPlan | null;
  readonly expected: Expectation;
};

/** What the launcher must report for a run to count as isolated. Names are without "fact.". */
export type Expectation = {
  readonly equal: Facts;
  /** Namespaces that must differ from the gateway's own. */
  readonly newNamespaces: readonly string[];
  /** Facts that must have another value. */
  readonly other?: Facts;
  /** Lists that may have no other items. */
  readonly within?: Readonly<Record<string, readonly string[]>>;
};

/** A plan that is ready to be started. */
export type CommandPlan = Omit<TierPlan, 'expected'> & {
  /** The launcher's arguments for facts without which it does not start the command. */
  readonly gate: readonly string[];
  /** Which promises of the plan the reported facts do not prove; null when they prove all. */
  readonly missing: (facts: Facts) => IsolationGap | null;
};

/** What is known only when the run starts. */
export type RunPlace = {
  readonly cgroups: number;
  /** Whether a group counts the CPU time of the run; otherwise the launcher takes samples. */
  readonly countsCpu?: boolean;
  /** Null only when the gateway is not root. */
  readonly asRoot: AsRoot | null;
  readonly pass: NetworkPass;
  /** It has an input and an output stream beside its standard streams, as the numbers 3 and 4. */
  readonly hasStreams?: boolean;
};

/** A tier that starts commands: how it plans, and what it reports about itself in a receipt. */
export type CommandTier = {
  readonly name: ProcessTierName;
  readonly executor: string;
  /** Facts of the machine and the programs that enforce the sandbox. */
  readonly about: Readonly<Record<string, string | number | boolean>>;
  readonly plan: (terms: ProcessTerms, place: RunPlace) => Result<CommandPlan, Refused>;
};

/** The only way for a plan to refuse: what it would start is weaker than what was requested. */
export function unenforceable(message: string, remedy: string): Refused {
  return refuse('tier/unenforceable', message, remedy);
}

/** The main thread's stack, which RLIMIT_DATA does not count. */
const STACK_BYTES = 8 * 1024 * 1024;

/** The kernel's own CPU limit is per process and in whole seconds: it backs up the exact one, a second later. */
const CPU_SLACK_S = 1;

/**
 * How the limits of each process relate to those of the tree. A group counts exactly and reports which limit was
 * reached, so it has to be reached first; without one the limits of a process are all there is.
 */
export type LimitContext = {
  /** Processes of ours that count among the run's, or threads that its user already has. */
  readonly others: number;
  readonly hasGroup: boolean;
  readonly countsCpu: boolean;
};

/** How far RLIMIT_NPROC is above the limit of a group. */
const PROCESSES_BEHIND = 16;

/** RLIMIT_DATA as a multiple of a group's memory: programs reserve much more than they use. */
const DATA_BEHIND = 4;

/** The launcher's arguments for limits. */
export function limitWords(
  { limits, outputOverflow }: Pick<ProcessTerms, 'limits' | 'outputOverflow'>,
  context: LimitContext,
): readonly string[] {
  return [
    ...Object.entries(rlimits(limits, context)).map(([name, value]) => `${name}=${value}`),
    `stack=${STACK_BYTES}`,
    `cpums=${limits.cpuMs}`,
    ...(context.countsCpu ? [] : ['sample=1']),
    `wallms=${limits.wallMs}`,
    `output=${limits.outputBytes}`,
    ...(outputOverflow === 'cut' ? ['cut=1', `flood=${OUTPUT_FLOOD_BYTES}`] : []),
  ];
}

/** What the launcher must report of its limits; open files are left out, as a lower hard limit may narrow them. */
export function limitFacts(limits: ProcessLimits, context: LimitContext): Readonly<Record<string, string>> {
  const { nofile: _, ...exact } = rlimits(limits, context);
  const facts = Object.entries(exact).map(([name, value]) => [`rlimit.${name}`, String(value)]);
  return { ...Object.fromEntries(facts), 'rlimit.core': '0' };
}

/** The launcher's arguments for the environment of the command: these variables and no other. */
export function environmentWords(env: Readonly<Record<string, string>>): readonly string[] {
  const names = Object.keys(env).sort();
  return names.map((name) => `set=${name}=${env[name] ?? ''}`);
}

/** The launcher's arguments for the ids of the run and the ownership of its workspace, which a user namespace maps. */
export function identityWords(asRoot: AsRoot, workspaceFd: number, add: AddDescriptor): readonly string[] {
  const { uid, gid } = asRoot;
  return [`uid=${uid}`, `gid=${gid}`, `workspace=${workspaceFd}`, `map=${add({ role: 'map', ...asRoot })}`];
}

function rlimits(
  limits: ProcessLimits,
  { others, hasGroup }: LimitContext,
): Readonly<Record<string, number>> {
  return {
    cpu: Math.ceil(limits.cpuMs / 1000) + CPU_SLACK_S,
    data: limits.memoryBytes * (hasGroup ? DATA_BEHIND : 1),
    fsize: limits.fileBytes,
    nofile: limits.openFiles,
    nproc: limits.processes + others + (hasGroup ? PROCESSES_BEHIND : 0),
  };
}

/** The first descriptors of a run that has them, so that the command knows their numbers. */
const STREAMS = [
  { role: 'stream', way: 'in' },
  { role: 'stream', way: 'out' },
] as const;

/** The launcher's arguments for an input and an output stream beside the standard streams. */
export function streamWords(hasStreams: boolean | undefined, add: AddDescriptor): readonly string[] {
  return hasStreams === true ? STREAMS.map((stream) => `keep=${add(stream)}`) : [];
}

/** The launcher's arguments for the groups that the run joins. */
export function groupWords(count: number, add: AddDescriptor): readonly string[] {
  return Array.from({ length: count }, (_, index) => `cgroup=${add({ role: 'cgroup', index })}`);
}

/**
 * The last check of the terms of a run before they become arguments of a command line. The terms arrive checked; a plan
 * checks again, because here a stray NUL is a new option, an invalid number is no limit, and a path that is not
 * normalised is another path.
 */

const REPORT = 'Report it: the terms of a run are checked before they come here.';
const INNER_WORKSPACE = 'Choose a directory of its own for the work, such as a project in a home directory.';

/** Directories that the system depends on; a workspace may be below them, but never contain them. */
const NEVER_AROUND = [
  ...['/usr', '/etc', '/proc', '/sys', '/dev', '/boot', '/var/lib'],
  ...['/System', '/Library', '/private/etc', '/private/var'],
];

/** Returns null when every part of the terms is valid. */
export function checkTerms(terms: ProcessTerms): Refused | null {
  return (
    checkWords(terms) ??
    checkPaths(terms) ??
    checkWorkspace(terms) ??
    checkEnvironment(terms.env) ??
    checkLimits(terms.limits)
  );
}

/** Returns null when the ids that a root gateway assigns to the run are those of an ordinary user. */
export function checkIdentity(asRoot: AsRoot | null): Refused | null {
  if (asRoot === null) return null;
  const { uid, gid, owner } = asRoot;
  const areIds = [uid, gid, owner.uid, owner.gid].every((id) => Number.isSafeInteger(id) && id >= 0);
  // Boundary: the kernel lets host uid 0 write its settings regardless of namespaces and capabilities.
  if (areIds && uid > 0 && gid > 0) return null;
  return unenforceable(
    `Cannot plan the run: it would run as ${uid}:${gid}, expected a user and a group other than 0`,
    'Give the gateway an ordinary user for the runs, or start it as one.',
  );
}

/** Returns null when a filter consists of whole instructions; a run without a filter is not planned. */
export function checkFilter(seccomp: Uint8Array): Refused | null {
  const instructionBytes = 8;
  if (seccomp.length > 0 && seccomp.length % instructionBytes === 0) return null;
  return unenforceable(
    `Cannot plan the run: the system call filter has ${seccomp.length} bytes, expected whole instructions of 8`,
    'Use a machine with an x64 or arm64 processor.',
  );
}

function checkWords(terms: ProcessTerms): Refused | null {
  const { executable, argv, workspace, cwd, env, readOnly, protectedPaths } = terms;
  const words = [executable, workspace, cwd, ...argv, ...readOnly, ...protectedPaths];
  // Boundary: options reach bubblewrap separated by NULs, so a NUL in an argument would start a new option.
  const torn = [...words, ...Object.entries(env).flat()].find((word) => word.includes('\0'));
  if (torn !== undefined) {
    return unenforceable(
      `Cannot plan the run: ${JSON.stringify(torn)} holds a NUL, expected arguments without one`,
      REPORT,
    );
  }
  if (argv.length > 0) return null;
  return unenforceable('Cannot plan the run: its argv is empty, expected the name of the command', REPORT);
}

function checkPaths(terms: ProcessTerms): Refused | null {
  const { executable, workspace, cwd, readOnly, protectedPaths } = terms;
  const absolute = [executable, workspace, cwd, ...readOnly];
  // Boundary: ".." and doubled slashes would pass a comparison of texts and lead elsewhere.
  const odd = absolute.find((path) => !path.startsWith('/') || !isNormal(path) || path.startsWith('//'));
  if (odd !== undefined) {
    return unenforceable(
      `Cannot plan the run: the path "${odd}" is not canonical, expected one from the root without . and ..`,
      REPORT,
    );
  }
  const outside = protectedPaths.find((path) => !isNormal(path) || /^(\/|\.$|\.\.(\/|$))/.test(path));
  if (outside === undefined) return null;
  return unenforceable(
    `Cannot protect "${outside}": it is not a path inside the workspace, expected one relative to it without . and ..`,
    'Correct the protected path.',
  );
}

function checkWorkspace(terms: ProcessTerms): Refused | null {
  const { workspace, cwd } = terms;
  // Boundary: the run can write to a workspace, so it must not contain the system itself.
  const around = NEVER_AROUND.find((place) => isWithin(place, workspace));
  if (around !== undefined) {
    return unenforceable(
      `Cannot use the workspace "${workspace}": it holds "${around}", expected a directory that holds no part of the system`,
      INNER_WORKSPACE,
    );
  }
  if (isWithin(cwd, workspace)) return null;
  return unenforceable(`Cannot start in "${cwd}": it is outside, expected a path in "${workspace}"`, REPORT);
}

function checkEnvironment(env: ProcessTerms['env']): Refused | null {
  const odd = Object.keys(env).find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (odd === undefined) return null;
  return unenforceable(
    `Cannot set the variable ${JSON.stringify(odd)}: it is not a valid name, expected letters, digits and _`,
    'Correct the name of the variable.',
  );
}

function checkLimits(limits: ProcessLimits): Refused | null {
  // Boundary: a limit that is not a positive integer must not become "no limit".
  const odd = Object.entries(limits).find(([, value]) => !Number.isSafeInteger(value) || value <= 0);
  if (odd === undefined) return null;
  const [name, value] = odd;
  return unenforceable(
    `Cannot hold the limit ${name}: it is ${value}, expected a whole number above 0`,
    REPORT,
  );
}

function isNormal(path: string): boolean {
  return path !== '' && posix.normalize(path) === path && (path === '/' || !path.endsWith('/'));
}
