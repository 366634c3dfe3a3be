import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CODES } from '@palisade/sdk';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readEnvironment } from '../../packages/gateway/src/config/environment.ts';
import { recordsFrom } from '../../packages/gateway/src/journal/search.ts';
import { openRecords } from '../../packages/gateway/src/open.ts';
import { openCgroups } from '../../packages/gateway/src/tiers/cgroup/cgroups.ts';
import { AT_ONCE } from '../../packages/gateway/src/tiers/process/open.ts';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { leftovers, NO_TRACES, processesOf, type Traces, traces } from '../fixtures/commands/leftovers.ts';

const MIB = 1024 * 1024;
const gateway = sharedGateway();
const { workspace, stateDir } = gateway;

/** More than the sandboxes themselves need, and soon used up. */
const LITTLE_MEMORY = 96 * MIB;

const FILES: Readonly<Record<string, string>> = {
  'bad.c': '#include <stdio.h>\nint main(void) { return undeclared; }\n',
  // Shared pages are in no process's data segment: only a group counts them. Either way it has an end.
  'hog.py': `import mmap, sys
print("begun", flush=True)
flags = mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if sys.argv[1] == "shared" else mmap.MAP_PRIVATE)
kept = []
for _ in range(100):
    part = mmap.mmap(-1, ${4 * MIB}, flags)
    part.write(b"x" * ${4 * MIB})
    kept.append(part)
`,
  'bomb.py': `import os, sys, time
print("begun", flush=True)
try:
    while True:
        if os.fork() == 0: time.sleep(600)
except OSError as error:
    sys.exit(error.strerror)
`,
  'plain.txt': 'no program\n',
  'no-interpreter': '#!/nowhere/sh\n',
  'no-format': 'neither a script nor a binary\n',
};

/** Tells of a sleeper, leaves a daemon behind that has a session of its own, and waits. */
const WITH_DAEMON = 'echo begun; (setsid sleep 641 &) ; sleep 642';

/** Whether this machine gives a group to each run: then a whole tree is counted, and the caller is told by whom. */
const HAS_GROUPS = openCgroups({
  mountinfo: readFileSync('/proc/self/mountinfo', 'utf8'),
  selfCgroup: readFileSync('/proc/self/cgroup', 'utf8'),
  prefix: 'palisade',
  owner: { realStateDir: stateDir, process: 'probe' },
}).probe().ok;

const TIERS = ['b', 'c'] as const;
let before: Traces = NO_TRACES;

beforeAll(() => {
  // Where the gateway is root, commands of tier B are another user, and walk to their workspace as every user does.
  chmodSync(dirname(workspace), 0o711);
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(workspace, name), text);
  for (const name of ['no-interpreter', 'no-format']) chmodSync(join(workspace, name), 0o755);
  mkdirSync(join(workspace, 'directory'));
});

beforeEach(() => {
  before = traces(stateDir);
});

afterEach(async () => {
  expect(await leftovers(stateDir, before)).toEqual(NO_TRACES);
});

/** What callers were told, for a comparison with the journal at the end. */
const reported: string[] = [];

/** Runs a command and keeps what the caller is told; every failure has a remedy in the table. */
async function run(input: object, signal?: AbortSignal): Promise<CommandEnd> {
  const end = await gateway.run(input, signal);
  reported.push(end.code);
  if (end.code !== 'ok') expect(CODES).toHaveProperty([end.code, 'remedy'], expect.stringMatching(/\.$/));
  return end;
}

test('a command that tries to connect until its time is over is told that it had no network, and no other', async () => {
  const tries = `import socket, time
while True:
    try: socket.create_connection(('192.0.2.1', 80), timeout=1)
    except OSError: time.sleep(0.1)`;
  const limits = { wall_ms: 2000 };
  const trying = await run({ command: 'python3', args: ['-c', tries], limits });
  expect(trying.message).toContain('This run had no network: allow a host with');
  const waiting = await run({ command: 'sleep', args: ['60'], limits });
  expect(waiting).toMatchObject({ code: 'tier/timed-out' });
  expect(waiting.message).not.toContain('network');
});

describe.each(TIERS)('in tier %s', (tier) => {
  test.each<[string, object, object, RegExp, RegExp]>([
    [
      'a compiler that finds an error',
      { command: 'gcc', args: ['-c', 'bad.c'] },
      { code: 'tier/exited', output: { exitCode: 1, signal: null, limit: null, truncated: false } },
      /^$/,
      /bad\.c:2:25: error: .undeclared. undeclared/,
    ],
    [
      'a command that takes too long',
      { command: 'sh', args: ['-c', WITH_DAEMON], limits: { wall_ms: 2500 } },
      { code: 'tier/timed-out', output: { exitCode: null, signal: 'SIGKILL', limit: 'wall' } },
      /^begun\n$/,
      /^$/,
    ],
    [
      'a command that computes too long',
      { command: 'sh', args: ['-c', 'echo begun; while :; do :; done'], limits: { cpu_time_ms: 200 } },
      { code: 'tier/out-of-cpu', output: { exitCode: null, signal: 'SIGKILL', limit: 'cpu' } },
      /^begun\n$/,
      /^$/,
    ],
    [
      'a flood of output',
      { command: 'yes', args: ['žluť'], limits: { output_bytes: 9997 }, output_overflow: 'kill' },
      { code: 'tier/output-exceeded', output: { exitCode: null, limit: 'output', truncated: true } },
      /^(žluť\n){1428}$/,
      /^$/,
    ],
    [
      'a command that runs out of memory',
      {
        command: 'python3',
        args: ['hog.py', HAS_GROUPS ? 'shared' : 'private'],
        limits: { memory_bytes: LITTLE_MEMORY },
      },
      // Without a group each process is refused more, and nobody is told but itself.
      HAS_GROUPS
        ? { code: 'tier/out-of-memory', output: { exitCode: null, signal: 'SIGKILL', limit: 'memory' } }
        : { code: 'tier/exited', output: { exitCode: 1, signal: null, limit: null } },
      /^begun\n$/,
      HAS_GROUPS ? /^$/ : /Cannot allocate memory/,
    ],
    [
      'a fork bomb',
      { command: 'python3', args: ['bomb.py'], limits: { processes: 20 } },
      {
        code: 'tier/exited',
        output: { exitCode: 1, limit: HAS_GROUPS ? 'processes' : null, processesKilledAtEnd: 19 },
      },
      /^begun\n$/,
      /^Resource temporarily unavailable\n$/,
    ],
    [
      'a file that grows too large',
      { command: 'sh', args: ['-c', 'echo begun; exec yes > big'], limits: { file_size_bytes: 4096 } },
      { code: 'tier/exited', output: { exitCode: null, signal: 'SIGXFSZ', limit: 'file_size' } },
      /^begun\n$/,
      /^$/,
    ],
    [
      'a signal of its own',
      { command: 'sh', args: ['-c', 'echo begun; kill -SEGV $$'] },
      { code: 'tier/exited', output: { exitCode: null, signal: 'SIGSEGV', limit: null } },
      /^begun\n$/,
      /^$/,
    ],
  ])('%s ends with its output, its limit and its code', async (_, input, expected, stdout, stderr) => {
    const end = await run({ ...input, tier });
    expect(end).toMatchObject(expected);
    expect(end.output?.stdout).toMatch(stdout);
    expect(end.output?.stderr).toMatch(stderr);
    expect(end.execution?.tier).toBe(tier);
  });

  test.each<[string, object, string, RegExp]>([
    ['a program that is not there', { command: 'no-such-program' }, 'runner/not-found', /it is not in /],
    ['a path that is not there', { command: './gone' }, 'runner/not-found', /it does not exist/],
    ['a file without execute bit', { command: './plain.txt' }, 'runner/not-found', /is not executable/],
    ['a directory', { command: './directory' }, 'runner/not-found', /expected a regular file/],
    [
      'a working directory that is not there',
      { command: 'true', cwd: 'gone' },
      'runner/outside-workspace',
      /ENOENT/,
    ],
  ])('%s is refused, and says why', async (_, input, code, words) => {
    const end = await run({ ...input, tier });
    expect(end).toMatchObject({ code, output: null });
    expect(end.message).toMatch(words);
  });

  test('a script whose interpreter is missing, or that has none, does not start', async () => {
    const end = await run({ command: './no-format', tier });
    expect(end.code).toBe('tier/not-started');
    expect(end.message).toMatch(/executing it fails with ENOEXEC/);
    const missing = await run({ command: './no-interpreter', tier });
    expect(missing.code).toMatch(/^(tier\/not-started|runner\/not-found)$/);
  });

  test('a caller that goes away takes everything with it', async () => {
    const caller = new AbortController();
    const running = run({ command: 'sh', args: ['-c', WITH_DAEMON], tier }, caller.signal);
    await until(() => sleepers().length === 2);
    caller.abort();
    const end = await running;
    expect(end).toMatchObject({ code: 'tier/cancelled', output: { stdout: 'begun\n', exitCode: null } });
    expect(sleepers()).toEqual([]);
  });

  test.each([
    ['sandbox', outermost],
    ['starter', starters],
  ])(
    'a %s that is killed from outside takes everything with it, and the caller is told',
    async (_, victims) => {
      const running = run({ command: 'sh', args: ['-c', WITH_DAEMON], tier });
      await until(() => sleepers().length === 2);
      process.kill(Number(victims().at(0)), 'SIGKILL');
      const end = await running;
      expect(end).toMatchObject({ code: 'tier/exited', output: { stdout: 'begun\n', exitCode: null } });
      expect(end.message).toMatch(/its sandbox was (?:killed by SIGKILL|ended from outside)/);
      await until(() => sleepers().length === 0);
    },
  );

  test('a workspace that is replaced while the command runs', async () => {
    const [aside, other] = [`${workspace}-aside`, `${workspace}-other`];
    mkdirSync(other);
    writeFileSync(join(other, 'secret-name'), '');
    const script = 'echo begun > begun; while ! [ -e go ]; do sleep 0.02; done; echo x > written; ls';
    const running = run({ command: 'sh', args: ['-c', script], tier });
    await until(() => readdirSync(workspace).includes('begun'));
    renameSync(workspace, aside);
    renameSync(other, workspace);
    writeFileSync(join(aside, 'go'), '');
    const end = await running;
    const replaced = readdirSync(workspace);
    renameSync(workspace, other);
    renameSync(aside, workspace);
    expect(end.code).toBe('ok');
    expect(end.output?.stdout).toContain('written\n');
    expect(replaced).toEqual(['secret-name']);
    // The other directory is none of the run's: what it is told of is the one that it had.
    expect(end.output?.changes.map(({ path }) => path)).toEqual(['begun', 'go', 'written']);
    expect(end.output?.findings).toEqual([]);
    expect(readFileSync(join(workspace, 'written'), 'utf8')).toBe('x\n');
    for (const name of ['begun', 'go', 'written']) rmSync(join(workspace, name));
    rmSync(other, { recursive: true });
  });
});

test('a directory that vanishes, and a workspace that is another, while commands wait for their turn', async () => {
  const crowd = new Crowd();
  mkdirSync(join(workspace, 'short-lived'));
  const vanished = await crowd.afterTheyWait(
    TIERS.map((tier) => ({ command: 'true', cwd: 'short-lived', tier })),
    () => rmSync(join(workspace, 'short-lived'), { recursive: true }),
  );
  expect(vanished.map(({ code }) => code)).toEqual(TIERS.map(() => 'tier/not-started'));
  const aside = `${workspace}-aside`;
  const replaced = await crowd
    .afterTheyWait(
      TIERS.map((tier) => ({ command: 'sh', args: ['-c', 'echo x > seen'], tier })),
      () => {
        renameSync(workspace, aside);
        symlinkSync('/etc', workspace);
      },
    )
    .finally(() => {
      rmSync(workspace);
      renameSync(aside, workspace);
    });
  await crowd.leave();
  for (const { code, message } of replaced) {
    expect(code).toBe('tier/not-started');
    expect(message).toMatch(/expected the directory that was authorised/);
  }
  expect(readdirSync(workspace)).not.toContain('seen');
});

test('all of it is in the journal, as the callers were told', async () => {
  const records = await readRecords();
  const rows = [...recordsFrom(records.segments, 1)].filter(({ call }) => call !== null);
  const codes = rows.flatMap(({ line }) => {
    const { code } = (JSON.parse(line) as { body: { code?: string } }).body;
    return code === undefined ? [] : [code];
  });
  records.release();
  expect(codes.sort()).toEqual(reported.sort());
});

function readRecords() {
  return openRecords({ stateDir, env: readEnvironment({}), version: '0.0.0' });
}

/** Fills all places of the gateway, so that other commands wait for their turn. */
class Crowd {
  readonly #members: { readonly caller: AbortController; readonly end: Promise<CommandEnd> }[] = [];

  /** Lets commands wait until something has happened, and then take their turn. */
  async afterTheyWait(inputs: readonly object[], happens: () => void): Promise<readonly CommandEnd[]> {
    while (this.#members.length < AT_ONCE) {
      const caller = new AbortController();
      const end = run({ command: 'sleep', args: ['643'], tier: 'b' }, caller.signal);
      this.#members.push({ caller, end });
    }
    await until(() => outermost().length === AT_ONCE);
    const waiting = inputs.map((input) => run(input));
    const { journal, store, release } = await readRecords();
    // Judged and written down, and there is no place for them.
    await until(() => journal.openCalls(store).length === AT_ONCE + inputs.length);
    release();
    happens();
    await this.leave(inputs.length);
    return Promise.all(waiting);
  }

  async leave(count = AT_ONCE): Promise<void> {
    const leaving = this.#members.splice(0, count);
    for (const { caller } of leaving) caller.abort();
    await Promise.all(leaving.map(({ end }) => end));
  }
}

function sleepers(): string[] {
  return processesOf(stateDir).filter((line) => /^\d+ sleep 64\d$/.test(line));
}

/** The processes of ours that start commands. */
function starters(): string[] {
  return childrenOf(process.pid);
}

/** The first process of each command. */
function outermost(): string[] {
  return starters().flatMap((pid) => childrenOf(Number(pid)));
}

function childrenOf(wanted: number): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, parent] = status.slice(status.lastIndexOf(')') + 2).split(' ');
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return state !== 'Z' && Number(parent) === wanted && /launcher|bwrap/.test(words);
    } catch {
      return false;
    }
  });
}

/** Waits for what comes, however busy the machine is: the time limit of the test is its end. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(100);
}
