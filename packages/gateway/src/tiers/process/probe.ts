/** Finds out what tiers B and C can hold on this machine: which programs there are, and what the kernel gives us. */
import type { Clock } from '../../core/clock.ts';
import { type ProcessFindings, processTier } from '../b-process/index.ts';
import { type JailFindings, jailTier } from '../c-bubblewrap/index.ts';
import { ETC_BINDS, SYSTEM_ROOTS } from '../c-bubblewrap/root.table.ts';
import { parseOptions, parseVersion } from '../c-bubblewrap/version.ts';
import { runChild } from '../child/run-child.ts';
import { MAX_STATUS_BYTES } from '../child/status.ts';
import {
  findProgram,
  HARMLESS,
  hostPaths,
  isInReachOfAll,
  type Lack,
  ownNamespaces,
  type Program,
  threadsOf,
} from './machine.ts';
import type { CommandTier } from './plan.ts';
import { type Attempt, attemptOf } from './trial.ts';

/** A tier that can be planned here; whether its walls stand, every run reports anew. */
export type Found = { readonly ok: true; readonly tier: CommandTier; readonly launcher: string };
export type Probed = Found | Lack;
export type ProbedB = (Found & { readonly namespaces: Attempt }) | Lack;
export type ProbedC = (Found & { readonly jail: JailFindings }) | Lack;

export type ProbeOptions = {
  readonly clock: Clock;
  /** Where the launcher may be, the best place first. */
  readonly launchers: readonly string[];
  /** Where bubblewrap may be, the best place first. */
  readonly bwraps?: readonly string[];
  readonly runAs: { readonly uid: number; readonly gid: number } | null;
};

const BWRAPS = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'];
const NO_BWRAP = {
  why: 'bubblewrap is not installed',
  fix: 'Install it: apt-get install bubblewrap, dnf install bubblewrap, or your system’s like.',
};
const NO_LAUNCHER = {
  why: 'the launcher is not built',
  fix: 'Run `npm run setup` in the project; it needs a C compiler: apt-get install gcc libc6-dev.',
};
const NO_LINUX = {
  ok: false,
  why: 'this is not Linux',
  fix: 'Run palisade on Linux, or in a virtual machine with it.',
} as const;
const SAID_BYTES = 65_536;
const PATIENCE_MS = 5_000;
const STATUS_FD = 3;

/** Tier B, if this machine can hold it. */
export async function probeB(options: ProbeOptions): Promise<ProbedB> {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const namespaces = await tryLauncher(launcher.path, options, ['ns=1']);
  // It only stands in for namespaces, so the first call does not wait for it where there are some.
  const hasLandlock = !namespaces.ok && (await tryLandlock(launcher.path, options)).ok;
  const found: ProcessFindings = {
    launcherSha256: launcher.sha256,
    hasNamespaces: namespaces.ok,
    hasLandlock,
    ownNamespaces: ownNamespaces(),
    ownThreads: () => threadsOf(options.runAs?.uid ?? process.getuid?.() ?? 0),
    isReachable: isInReachOfAll,
  };
  return { ok: true, tier: processTier(found), launcher: launcher.path, namespaces };
}

/** Tier C, if this machine can hold it. */
export async function probeC(options: ProbeOptions): Promise<ProbedC> {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const bwrap = findProgram(options.bwraps ?? BWRAPS, NO_BWRAP);
  if (!bwrap.ok) return bwrap;
  const [version, help] = await Promise.all(
    ['--version', '--help'].map((word) => say(options.clock, bwrap.path, ['bwrap', word])),
  );
  const bwrapVersion = parseVersion(version ?? '');
  if (bwrapVersion === null)
    return { ok: false, why: `"${bwrap.path}" does not say its version`, fix: NO_BWRAP.fix };
  const jail: JailFindings = {
    bwrap: bwrap.path,
    bwrapSha256: bwrap.sha256,
    bwrapVersion,
    bwrapOptions: parseOptions(help ?? ''),
    launcherSha256: launcher.sha256,
    systemRoots: hostPaths(SYSTEM_ROOTS.map(({ path }) => path)),
    etc: hostPaths(ETC_BINDS.map(({ path }) => path)),
    ownNamespaces: ownNamespaces(),
  };
  return { ok: true, tier: jailTier(jail), launcher: launcher.path, jail };
}

function findLauncher({ launchers }: ProbeOptions): Program | Lack {
  if (process.platform !== 'linux') return NO_LINUX;
  return findProgram(launchers, NO_LAUNCHER);
}

/** Whether the kernel has Landlock; the facts say which ABI. */
export function tryLandlock(launcher: string, options: ProbeOptions): Promise<Attempt> {
  return tryLauncher(launcher, options, ['ro=/']);
}

/** Starts a command that does nothing under the given words, and nothing else, of the launcher. */
async function tryLauncher(
  launcher: string,
  { clock, runAs }: ProbeOptions,
  wish: readonly string[],
): Promise<Attempt> {
  const ids = runAs === null ? [] : [`uid=${runAs.uid}`, `gid=${runAs.gid}`];
  const words = [...ids, ...wish, `status=${STATUS_FD}`, 'facts=1', '--', HARMLESS.file, ...HARMLESS.argv];
  const end = await run(clock, launcher, ['palisade-launcher', ...words]);
  return attemptOf(end, end.read[0]);
}

async function say(clock: Clock, file: string, args: readonly string[]): Promise<string> {
  return Buffer.from((await run(clock, file, args)).stdout).toString();
}

function run(clock: Clock, file: string, args: readonly string[]) {
  const plan = {
    ...{ file, args, env: {}, cwd: '/', stdin: null },
    descriptors: [{ kind: 'read', maxBytes: MAX_STATUS_BYTES } as const],
    outputBytes: SAID_BYTES,
    wallMs: PATIENCE_MS,
    graceMs: PATIENCE_MS,
  };
  return runChild(plan, { signal: new AbortController().signal, clock });
}
