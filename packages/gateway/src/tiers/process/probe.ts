/** Finds out what tiers B and C can hold on this machine, by starting them. */
import { existsSync } from 'node:fs';
import type { Clock } from '../../core/clock.ts';
import { type ProcessFindings, processTier } from '../b-process/index.ts';
import { type JailFindings, jailTier } from '../c-bubblewrap/index.ts';
import { ETC_BINDS, SYSTEM_ROOTS } from '../c-bubblewrap/root.table.ts';
import { parseOptions, parseVersion } from '../c-bubblewrap/version.ts';
import { runChild } from '../child/start-child.ts';
import type { CommandTier } from './command-plan.ts';
import { findProgram, hostPaths, type Lack, ownNamespaces, type Program, threadsOf } from './machine.ts';

export type Probed = { readonly ok: true; readonly tier: CommandTier; readonly launcher: string } | Lack;

export type ProbeOptions = {
  readonly clock: Clock;
  /** Where the launcher may be, the best place first. */
  readonly launchers: readonly string[];
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
const NO_LINUX = { ok: false, why: 'this is not Linux', fix: 'Run palisade on Linux.' } as const;
const SAID_BYTES = 65_536;
const PATIENCE_MS = 5_000;

/** Tier B, if this machine can hold it. */
export async function probeB(options: ProbeOptions): Promise<Probed> {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const hasNamespaces = await canMakeNamespaces(launcher, options);
  const found: ProcessFindings = {
    launcher: launcher.path,
    launcherSha256: launcher.sha256,
    hasNamespaces,
    hasLandlock: existsSync('/sys/kernel/security/landlock') || !hasNamespaces,
    ownNamespaces: ownNamespaces(),
    ownThreads: () => threadsOf(options.runAs?.uid ?? process.getuid?.() ?? 0),
  };
  return { ok: true, tier: processTier(found), launcher: launcher.path };
}

/** Tier C, if this machine can hold it. */
export async function probeC(options: ProbeOptions): Promise<Probed> {
  const launcher = findLauncher(options);
  if (!launcher.ok) return launcher;
  const bwrap = findProgram(BWRAPS, NO_BWRAP);
  if (!bwrap.ok) return bwrap;
  const [version, help] = await Promise.all(
    ['--version', '--help'].map((word) => say(options.clock, bwrap.path, ['bwrap', word])),
  );
  const bwrapVersion = parseVersion(version ?? '');
  if (bwrapVersion === null)
    return { ok: false, why: `"${bwrap.path}" does not say its version`, fix: NO_BWRAP.fix };
  const found: JailFindings = {
    bwrap: bwrap.path,
    bwrapSha256: bwrap.sha256,
    bwrapVersion,
    bwrapOptions: parseOptions(help ?? ''),
    launcher: launcher.path,
    launcherSha256: launcher.sha256,
    systemRoots: hostPaths(SYSTEM_ROOTS.map(({ path }) => path)),
    etc: hostPaths(ETC_BINDS.map(({ path }) => path)),
    ownNamespaces: ownNamespaces(),
  };
  return { ok: true, tier: jailTier(found), launcher: launcher.path };
}

function findLauncher({ launchers }: ProbeOptions): Program | Lack {
  if (process.platform !== 'linux') return NO_LINUX;
  return findProgram(launchers, NO_LAUNCHER);
}

async function canMakeNamespaces(launcher: Program, { clock, runAs }: ProbeOptions): Promise<boolean> {
  const ids = runAs === null ? [] : [`uid=${runAs.uid}`, `gid=${runAs.gid}`];
  const words = ['palisade-launcher', ...ids, 'ns=1', '--', '/bin/true', 'true'];
  const { exitCode } = await run(clock, launcher.path, words);
  return exitCode === 0;
}

async function say(clock: Clock, file: string, args: readonly string[]): Promise<string> {
  return Buffer.from((await run(clock, file, args)).stdout).toString();
}

function run(clock: Clock, file: string, args: readonly string[]) {
  const plan = {
    ...{ file, args, env: {}, cwd: '/', descriptors: [], stdin: null },
    outputBytes: SAID_BYTES,
    wallMs: PATIENCE_MS,
    graceMs: PATIENCE_MS,
  };
  return runChild(plan, { signal: new AbortController().signal, clock });
}
