import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { recordsFrom } from '../../packages/gateway/src/journal/search.ts';
import { openGateway } from '../../packages/gateway/src/open.ts';
import { nodeForAll } from '../fixtures/commands/for-all.ts';
import { handOver, heldGateway } from '../fixtures/commands/held.ts';
import { makeDirectories } from '../fixtures/commands/index.ts';
import { asNobody } from '../fixtures/jail/index.ts';

/** Leaves its session, loses its parents, ignores signals and writes to the workspace for as long as it lives. */
const DAEMONS = `
import os, signal, sys, time
for number in (1, 2, 13, 15): signal.signal(number, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: break
        os._exit(0)
while True:
    open('beats', 'a').write(f'{os.getpid()}\\n')
    time.sleep(0.02)
`;

/** How long the kernel may take to end everything; it needs a few milliseconds. */
const PATIENCE_MS = 20_000;

const users = [
  { who: 'the user of the tests', ids: {} },
  ...(process.getuid?.() === 0 ? [{ who: 'nobody', ids: asNobody() }] : []),
];

describe.each(users)('a jail with daemons whose gateway, run by $who, is killed', ({ ids }) => {
  const made = heldGateway();
  const directories = makeDirectories('');
  const marker = `palisade-marker-${randomInt(2 ** 40)}`;
  const beats = join(directories.workspace, 'beats');
  let during: { readonly processes: readonly number[]; readonly groups: readonly string[] };
  beforeAll(async () => {
    if (ids.uid !== undefined) handOver(directories, ids.uid);
    const program = await made();
    const input = { command: '/usr/bin/python3', args: ['-c', DAEMONS, marker], tier: 'c' };
    const words = [program, directories.stateDir, directories.workspace, JSON.stringify(input)];
    const gateway = spawn(nodeForAll(dirname(program)), words, {
      stdio: ['ignore', 'ignore', 'inherit'],
      cwd: '/',
      ...ids,
    });
    const gone = once(gateway, 'exit');
    const processes = await settled(beats, () => jailed(marker, gateway.pid));
    during = { processes, groups: [...new Set(processes.flatMap(groupsOf))] };
    gateway.kill('SIGKILL');
    await gone;
  });
  afterAll(() => rmSync(dirname(directories.stateDir), { recursive: true, force: true }));

  test('is gone with all of its processes', async () => {
    expect(during.processes.length).toBeGreaterThanOrEqual(4);
    await until(() => processesWith(marker).length === 0);
    const { size } = statSync(beats);
    expect(size).toBeGreaterThan(0);
    await sleep(100);
    expect(statSync(beats).size).toBe(size);
  });

  test('leaves no mount', () => {
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(dirname(directories.stateDir));
  });

  test('leaves no group after the next start, which records that nobody knows how the call ended', async () => {
    const { stateDir, workspace } = directories;
    handOver(directories, process.getuid?.() ?? 0);
    const gateway = await openGateway({
      stateDir,
      env: readEnvironment({}),
      version: 'test',
      workspaces: [workspace],
    });
    const codes = [...recordsFrom(gateway.segments, 1)]
      .filter(({ kind }) => kind === 'ended')
      .map(({ line }) => (JSON.parse(line) as { body: { code: string } }).body.code);
    await until(() => during.groups.every((group) => !existsSync(group)));
    await gateway.close();
    expect(codes).toEqual(['tier/unknown-ending']);
  });
});

test('the same daemons without a jail outlive the process that started them', async () => {
  const marker = `palisade-marker-${randomInt(2 ** 40)}`;
  const { workspace: cwd, stateDir } = makeDirectories('');
  onTestFinished(() => rmSync(dirname(stateDir), { recursive: true, force: true }));
  const first = spawn('/usr/bin/python3', ['-c', DAEMONS, marker], { stdio: 'ignore', cwd });
  await settled(join(cwd, 'beats'), () => processesWith(marker));
  await until(() => processesWith(marker).length === 4);
  first.kill('SIGKILL');
  await once(first, 'exit');
  const left = processesWith(marker);
  for (const process of left) globalThis.process.kill(process, 'SIGKILL');
  expect(left).toHaveLength(3);
});

/** The daemons and their first process, looked at once all four write to `beats`: those that only fork are gone by then. */
async function settled(beats: string, look: () => readonly number[]): Promise<readonly number[]> {
  await until(() => new Set(textOf(beats).split('\n').slice(0, -1)).size === 4);
  let processes = look();
  await until(() => {
    const before = processes;
    processes = look();
    return `${before}` === `${processes}`;
  });
  return processes;
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`Cannot go on: ${holds} does not hold`);
    await sleep(10);
  }
}

function processesWith(word: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => textOf(`/proc/${name}/cmdline`).includes(word))
    .map(Number);
}

/** Those of the jail alone: the gateway has the word in its own command line. */
function jailed(word: string, gateway: number | undefined): number[] {
  return processesWith(word).filter((process) => process !== gateway);
}

/** The groups that were made for a process, as directories. */
function groupsOf(process: number): string[] {
  const mounts = textOf('/proc/self/mountinfo')
    .split('\n')
    .filter((line) => / - cgroup2? /.test(line))
    .map((line) => line.split(' ')[4] ?? '');
  const paths = textOf(`/proc/${process}/cgroup`)
    .split('\n')
    .map((line) => line.split(':')[2] ?? '')
    .filter((path) => path.includes('palisade'));
  return mounts.flatMap((mount) => paths.map((path) => join(mount, path))).filter((path) => existsSync(path));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
