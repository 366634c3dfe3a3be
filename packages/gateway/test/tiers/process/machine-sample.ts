import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/runner/settings.ts';
import { spawnChild } from '../../../src/tiers/child/spawn-child.ts';
import { Starter } from '../../../src/tiers/child/starter.ts';
import type { ProbeOptions } from '../../../src/tiers/process/tier.ts';
import type { TrialKit } from '../../../src/tiers/process/trial.ts';

export const LAUNCHER = resolve(import.meta.dirname, '../../../../launcher/dist/palisade-launcher');
export const IS_ROOT = process.getuid?.() === 0;
export const RUN_AS = IS_ROOT ? { uid: 61_000, gid: 61_000 } : null;
export const clock = { nowMs: () => 0, monotonicMs: () => performance.now() };

/** The real machine, with the given parts in their place. */
export function machine(changes: Partial<ProbeOptions> = {}): ProbeOptions {
  return { clock, launchers: [LAUNCHER], runAs: RUN_AS, ...changes };
}

export function trialKit(changes: Partial<TrialKit> = {}): TrialKit {
  const starter = new Starter();
  onTestFinished(() => starter.close());
  return {
    ...{ clock, runAs: RUN_AS, makeGroup: () => null, limits: DEFAULT_SETTINGS.defaults },
    start: (launcher, plan) => starter.start(launcher, plan),
    nextTrial: () => 1,
    ...changes,
  };
}

/** Starts launchers as children of this process: those that are no starters, because they are made up. */
export const startHere: TrialKit['start'] = async (file, { words, descriptors, ...terms }) => {
  // Only a starter hands out namespaces, and what is made up has no use for one.
  const kept = descriptors.filter(({ role }) => role !== 'map');
  return spawnChild({
    ...terms,
    ...{ file, args: ['palisade-launcher', ...words], env: {}, cwd: '/', descriptors: kept },
  });
};

/** A directory that every user can walk to, gone with the test. */
export function openDirectory(): string {
  const directory = mkdtempSync('/var/tmp/palisade-machine-');
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  chmodSync(directory, 0o755);
  return directory;
}

/** Sets a variable of the environment for one test. */
export function setVariable(name: string, value: string): void {
  vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

/** A program of shell lines. */
export function script(lines: readonly string[], mode = 0o755): string {
  const path = join(openDirectory(), 'program');
  writeFileSync(path, `${['#!/bin/sh', ...lines].join('\n')}\n`);
  chmodSync(path, mode);
  return path;
}

/** A bubblewrap that says what it is told and hands everything else to the real one, or to the given lines. */
export function fakeBwrap(
  version: string,
  otherwise: readonly string[] = ['exec /usr/bin/bwrap "$@"'],
): string {
  return script([
    `[ "$1" = --version ] && echo "${version}" && exit 0`,
    '[ "$1" = --help ] && exec /usr/bin/bwrap --help',
    ...otherwise,
  ]);
}

/** A launcher that reports what it is told on its status descriptor. */
export function fakeLauncher(report: readonly string[], status: number): string {
  const lines = report.map((line) => `echo '${line}'`).join('; ');
  return script([
    `for word; do case $word in --) break ;; status=*) fd=\${word#status=} ;; esac; done`,
    `[ -n "$fd" ] && eval "{ ${lines.replaceAll("'", '\\"')}; } >&$fd"`,
    `exit ${status}`,
  ]);
}

/** The real launcher where the kernel gives no user namespaces: inside of one that forbids further ones. */
export function launcherWithoutNamespaces(): string {
  const directory = openDirectory();
  mkdirSync(join(directory, 'bin'), { mode: 0o755 });
  const [real, path] = [join(directory, 'bin/real'), join(directory, 'bin/launcher')];
  copyFileSync(LAUNCHER, real);
  chmodSync(real, 0o755);
  const ordinary = IS_ROOT ? 'setpriv --reuid=61000 --regid=61000 --clear-groups' : '';
  const outside = 'bwrap --unshare-user --disable-userns --dev-bind / / --proc /proc --';
  // The directory of a trial is root's alone where root tries; here another user walks into it.
  const reach = `chmod -f 755 ${tmpdir()}/palisade-trial-*`;
  const lines = ['#!/bin/sh', 'export PATH=/usr/bin:/bin', reach, `exec ${ordinary} ${outside} ${real} "$@"`];
  writeFileSync(path, `${lines.join('\n')}\n`);
  chmodSync(path, 0o755);
  return path;
}
