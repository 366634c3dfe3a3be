import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Cgroups, openCgroups } from '../../../src/tiers/cgroup/cgroups.ts';
import type { GroupFiles } from '../../../src/tiers/cgroup/group-files.ts';
import { findCgroups } from '../../../src/tiers/cgroup/layout.ts';
import type { RunGroup } from '../../../src/tiers/cgroup/run-group.ts';

/** The control groups of this very machine. */

export type RealOptions = {
  readonly process?: string;
  readonly realStateDir?: string;
  readonly files?: GroupFiles;
};

function read(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** A realStateDir of its own per test process: tests that run at the same time do not see each other's groups. */
export const OWNER = `test ${process.pid}`;

export function openReal({
  process: owner = 'p_test',
  realStateDir = OWNER,
  files,
}: RealOptions = {}): Cgroups {
  return openCgroups({
    mountinfo: read('/proc/self/mountinfo'),
    selfCgroup: read('/proc/self/cgroup'),
    prefix: 'palisade',
    owner: { realStateDir, process: owner },
    ...(files === undefined ? {} : { files }),
  });
}

/** A test that needs groups. Where the machine gives none, it holds the refusal to what a person can use. */
export function itWithGroups(name: string, body: (cgroups: Cgroups) => Promise<void>): void {
  it(name, async () => {
    const cgroups = openReal();
    const probe = cgroups.probe();
    if (probe.ok) await body(cgroups);
    else expectRefusal(cgroups, probe.problem);
  });
}

function expectRefusal(cgroups: Cgroups, probe: { readonly why: string; readonly fix: string }): void {
  expect(probe.why).not.toBe('');
  expect(probe.fix).toMatch(/^(Start|Mount) .+\.$/);
  expect(() => cgroups.make('1', { memoryBytes: 1 << 26, processes: 16 })).toThrow(
    /^Cannot make control group: /,
  );
  expect(cgroups.list()).toEqual([]);
}

let made = 0;

/** A group that goes with the test, whatever happens in it. */
export function makeGroup(cgroups: Cgroups, limits: { memoryMib: number; processes: number }): RunGroup {
  made += 1;
  const group = cgroups.make(`${made}`, {
    memoryBytes: limits.memoryMib * 1024 * 1024,
    processes: limits.processes,
  });
  onTestFinished(() => group.remove());
  return group;
}

/** The name of the group, as every tree has it. */
export function nameOf(group: RunGroup): string {
  return nameIn(group.facts());
}

export function nameIn(facts: Record<string, string | number>): string {
  const [path] = Object.keys(facts).filter((key) => key.startsWith('cgroup_path'));
  return basename(String(facts[path ?? '']));
}

export type Running = {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; output: string }>;
};

/** Starts a command in the group as a launcher does: it joins through the descriptors before the command begins. */
export function startIn(group: RunGroup, file: string, args: readonly string[]): Running {
  const joins = group.descriptors.map((_, index) => `echo 0 >&${index + 3}`);
  const closes = group.descriptors.map((_, index) => `${index + 3}>&-`);
  const script = `${joins.join(' && ')} && exec "$@" ${closes.join(' ')}`;
  const child = spawn('/bin/sh', ['-c', script, 'sh', file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', ...group.descriptors],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk;
    });
  }
  const ended = once(child, 'close').then(([code]) => ({ code, output }));
  return { child, ended };
}

/** The living processes whose own /proc says that they are in the group. */
export function membersOf(name: string): number[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const isIn = readFileSync(`/proc/${entry}/cgroup`, 'utf8').includes(`/${name}`);
      // A zombie is dead, and waits only for its parent to look.
      const isDead = /\) [ZX] /.test(readFileSync(`/proc/${entry}/stat`, 'utf8'));
      return isIn && !isDead ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
}

/** The directories of that name at the top of any tree of this machine. */
export function directoriesNamed(name: string): string[] {
  const layout = findCgroups(read);
  const trees = [
    ...('controllers' in layout ? layout.controllers.values() : []),
    ...('unified' in layout ? [layout.unified] : []),
  ];
  return trees
    .flatMap(({ mount, own }) => [join(mount, name), join(mount, own ?? '/', name)])
    .filter((path) => existsSync(path));
}
