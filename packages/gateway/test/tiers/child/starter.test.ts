import { spawnSync } from 'node:child_process';
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import {
  type ChildEnd,
  type ChildWatch,
  endsOf,
  type LiveChild,
  type OpenDescriptor,
  type StartPlan,
} from '../../../src/tiers/child/child.ts';
import { attendChild, unstarted } from '../../../src/tiers/child/run-child.ts';
import { Starter } from '../../../src/tiers/child/starter.ts';
import { bundle } from '../../fixture/bundle.ts';
import { testClock } from '../../fixture/gateway.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { LAUNCHER, openDirectory, RUN_AS, script as shellProgram } from '../process/machine-sample.ts';
import { bytesOf, isAlive, textOf } from './sample.ts';

const NOT_OPEN = { role: 'open', fd: 9_999 } as const;
const IDENTITY = RUN_AS === null ? [] : [`uid=${RUN_AS.uid}`, `gid=${RUN_AS.gid}`];

type Wishes = Partial<StartPlan> &
  Partial<Pick<ChildWatch, 'signal' | 'onOutput'>> & {
    readonly launcher?: string;
    /** More words for the launcher. */
    readonly asked?: readonly string[];
  };

/** A plan of a shell in place of the launcher that started it, with all descriptors; its limits are far away. */
function planOf(text: string, { asked = ['mode=exec'], ...wishes }: Wishes = {}): StartPlan {
  const { descriptors = [] } = wishes;
  const kept = descriptors.map((_, index) => `keep=${3 + index}`);
  return {
    words: [...IDENTITY, ...asked, ...kept, 'set=PATH=/usr/bin:/bin', '--', '/bin/sh', 'sh', '-c', text],
    descriptors,
    stdin: null,
    outputBytes: 65_536,
    wallMs: 50_000,
    graceMs: 10_000,
    ...wishes,
  };
}

function openStarter(): Starter {
  const starter = new Starter();
  onTestFinished(() => starter.close());
  return starter;
}

async function startScript(starter: Starter, text: string, wishes: Wishes = {}): Promise<LiveChild> {
  const child = await starter.start(LAUNCHER, planOf(text, wishes));
  if (typeof child === 'string') throw new Error(`it did not start: ${child}`);
  return child;
}

async function runScript(starter: Starter, text: string, wishes: Wishes = {}): Promise<ChildEnd> {
  const { launcher = LAUNCHER, signal = new AbortController().signal, onOutput, ...others } = wishes;
  const plan = planOf(text, others);
  const child = await starter.start(launcher, plan);
  if (typeof child === 'string') return unstarted(plan, { spawnError: child });
  const watch = { signal, clock: testClock(), ...(onOutput === undefined ? {} : { onOutput }) };
  return attendChild(child, plan, watch);
}

/** The number of the starter: it is the parent of every child. Nothing of that child is left open anywhere. */
async function pidOf(starter: Starter): Promise<number> {
  const { stdout } = await runScript(starter, 'echo $PPID');
  expect(await starter.start(LAUNCHER, planOf('', { descriptors: [NOT_OPEN] }))).toBe('ENOENT');
  const pid = Number.parseInt(textOf(stdout), 10);
  expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).toBe(
    'palisade-launcher\0mode=serve\0requests=3\0handles=4\0',
  );
  return pid;
}

const openHere = () => readdirSync('/proc/self/fd').length;
const openIn = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

const ignore = () => undefined;
const DEAF = 'trap "" TERM INT HUP; echo $$; while :; do sleep 0.05; done';

describe('a child of the starter gives', () => {
  it('both outputs and its exit status', async () => {
    const end = await runScript(openStarter(), 'echo out; echo err >&2; exit 3');
    expect(end).toMatchObject({ exitCode: 3, signal: null, stopped: null, spawnError: null, outputBytes: 8 });
    expect([textOf(end.stdout), textOf(end.stderr)]).toEqual(['out\n', 'err\n']);
  });

  it.each(['SEGV', 'KILL', 'ABRT', 'TERM'])(
    'the signal it died of, and what it wrote before: %s',
    async (name) => {
      const end = await runScript(openStarter(), `echo last words; kill -${name} $$`);
      expect(end).toMatchObject({ exitCode: null, signal: `SIG${name}`, stopped: null });
      expect(textOf(end.stdout)).toBe('last words\n');
    },
  );

  it('20 MB to the last byte', async () => {
    const end = await runScript(openStarter(), 'head -c 20000000 /dev/zero', { outputBytes: 20_000_000 });
    expect(end).toMatchObject({ exitCode: 0, truncated: false, outputBytes: 20_000_000 });
  });
});

it('a supervised child of the starter gives all of a flood, whenever its end comes between two moves', async () => {
  const starter = openStarter();
  const asked = ['mode=run', 'output=8000000000'];
  const lengths: number[] = [];
  for (let run = 0; run < volume(25, 6); run++) {
    const words = { asked, outputBytes: 12_000_000 };
    lengths.push((await runScript(starter, 'exec head -c 12000000 /dev/zero', words)).stdout.length);
  }
  expect(lengths).toEqual(lengths.map(() => 12_000_000));
});

describe('a child of the starter has', () => {
  it('its input to the last byte, and none where the plan has none', async () => {
    const starter = openStarter();
    expect(textOf((await runScript(starter, 'wc -c')).stdout)).toBe('0\n');
    const supplied = await runScript(starter, 'cat', { stdin: bytesOf('given') });
    expect(textOf(supplied.stdout)).toBe('given');
    const long = await runScript(starter, 'wc -c', { stdin: new Uint8Array(3_000_000) });
    expect(textOf(long.stdout)).toBe('3000000\n');
  });

  it('no variables but those of its words, the root as its directory, and a session of its own', async () => {
    const end = await runScript(openStarter(), 'env | grep -v "^PWD="; pwd; ps -o sid= -p $$; echo $$');
    const [variables, directory, session = '', pid] = textOf(end.stdout).split('\n');
    expect([variables, directory, session.trim()]).toEqual(['PATH=/usr/bin:/bin', '/', pid]);
  });

  it('descriptors in the order of its plan, and no others', async () => {
    const file = join(openDirectory(), 'file');
    writeFileSync(file, 'opened');
    const [reader, writer] = [openSync(file, 'r'), openSync('/dev/null', 'w')];
    onTestFinished(() => [reader, writer].forEach(closeSync));
    const descriptors: OpenDescriptor[] = [
      { role: 'open', fd: reader },
      { role: 'status', maxBytes: 100 },
      { role: 'bytes', bytes: bytesOf(' and written ') },
      { role: 'control' },
      { role: 'status', maxBytes: 100 },
      { role: 'bytes', bytes: new Uint8Array(5_000_000).fill(0x61) },
      { role: 'open', fd: writer, writes: true },
    ];
    const text = `cat <&3; cat <&5; echo told >&4; echo also >&7; head -c 3 <&8; echo gone >&9 && echo ' '
      readlink /proc/self/fd/6 | cut -c 1-5; i=0; while [ $i -lt 99 ]; do [ -e /proc/$$/fd/$i ] && printf "$i "; i=$((i+1)); done`;
    const end = await runScript(openStarter(), text, { descriptors });
    expect(textOf(end.stderr)).toBe('');
    expect(textOf(end.stdout)).toBe('opened and written aaa \npipe:\n0 1 2 3 4 5 6 7 8 9 ');
    expect(end.read.map(textOf)).toEqual(['told\n', 'also\n']);
    expect(fstatSync(reader).isFile()).toBe(true);
  });

  it('streams that it can open by their names', async () => {
    const starter = openStarter();
    const asked = ['output=1000'];
    const written = await runScript(starter, 'echo x >/dev/stdout; echo y >/dev/stderr', { asked });
    expect([textOf(written.stdout), textOf(written.stderr)]).toEqual(['x\n', 'y\n']);
    const read = await runScript(starter, 'cat /dev/stdin', { asked, stdin: bytesOf('given') });
    expect([textOf(read.stdout), textOf(read.stderr)]).toEqual(['given', '']);
  });
});

describe('a child of the starter is ended', () => {
  it.each(['echo $$; exec yes', 'echo $$; exec cat /dev/zero >&2'])('when it floods: %s', async (text) => {
    const end = await runScript(openStarter(), text, { outputBytes: 100_000 });
    expect(end).toMatchObject({
      truncated: true,
      stopped: 'output',
      exitCode: null,
      outputBytes: 100_000,
    });
    const pid = Number.parseInt(textOf(end.stdout), 10);
    expect(pid).toBeGreaterThan(1);
    expect(isAlive(pid)).toBe(false);
  });

  it('by kill() although it is deaf, with all of its group', async () => {
    const starter = openStarter();
    const child = await startScript(starter, `sleep 40 & echo $!; ${DEAF}`);
    let observed = '';
    for await (const chunk of child.stdout ?? []) {
      observed += chunk;
      if (observed.split('\n').length === 3) break;
    }
    const pids = observed.trim().split('\n').map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    child.kill();
    expect(await child.exited).toEqual({ exitCode: null, signal: 'SIGKILL', spawnError: null });
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
    // Again, now that its number may be another's: nothing happens, and the starter goes on.
    child.kill();
    expect(await runScript(starter, 'exit 4')).toMatchObject({ exitCode: 4 });
  });

  it.each<[string, Wishes, string]>([
    ['when the caller cancels', {}, 'cancelled'],
    ['when the caller has cancelled before', { signal: AbortSignal.abort() }, 'cancelled'],
    ['when its time is over', { wallMs: 50, onOutput: ignore }, 'timed-out'],
    [
      'when it does not care about its held end',
      { wallMs: 50, graceMs: 50, descriptors: [{ role: 'control' }], onOutput: ignore },
      'timed-out',
    ],
  ])('%s', async (_, wishes, stopped) => {
    const cancel = new AbortController();
    const onOutput = () => cancel.abort();
    const end = await runScript(openStarter(), DEAF, { signal: cancel.signal, onOutput, ...wishes });
    expect(end).toMatchObject({ exitCode: null, signal: 'SIGKILL', stopped });
  });

  it('by its held end first, and may tell how it ended', async () => {
    const cancel = new AbortController();
    const end = await runScript(openStarter(), 'echo up; read x <&3; echo done >&4; exit 7', {
      signal: cancel.signal,
      descriptors: [{ role: 'control' }, { role: 'status', maxBytes: 100 }],
      onOutput: () => cancel.abort(),
    });
    expect(end).toMatchObject({ exitCode: 7, signal: null, stopped: 'cancelled' });
    expect(textOf(end.read[0])).toBe('done\n');
  });
});

describe('a starter', () => {
  it('is one process for all children, and starts 50 of them at once', async () => {
    const starter = openStarter();
    const pid = await pidOf(starter);
    const runs = Array.from({ length: 50 }, (_, index) =>
      runScript(starter, `read x; echo $x $PPID; exit ${index}`, { stdin: bytesOf(`input ${index}\n`) }),
    );
    const ends = await Promise.all(runs);
    expect(ends.map(({ exitCode }) => exitCode)).toEqual(ends.map((_, index) => index));
    expect(ends.map(({ stdout }) => textOf(stdout))).toEqual(
      ends.map((_, index) => `input ${index} ${pid}\n`),
    );
  });

  it('leaves nothing open, here or there, after many children that end in every way', async () => {
    const starter = openStarter();
    const hold = { role: 'control' } as const;
    const ways: (() => Promise<ChildEnd>)[] = [
      () => runScript(starter, 'cat', { stdin: bytesOf('x') }),
      () => runScript(starter, 'exit 0', { stdin: new Uint8Array(1_000_000) }),
      () => runScript(starter, 'cat <&4', { descriptors: [hold, { role: 'bytes', bytes: bytesOf('x') }] }),
      () =>
        runScript(starter, 'echo x >&3', {
          descriptors: [{ role: 'status', maxBytes: 1 }, { role: 'words' }],
        }),
      () => runScript(starter, 'echo x', { outputBytes: 0, descriptors: [hold] }),
      () => runScript(starter, 'kill -KILL $$', { descriptors: [hold, hold] }),
      () => runScript(starter, 'exit 0', { descriptors: [hold, NOT_OPEN] }),
      () => runScript(starter, '', { asked: ['no=such'], descriptors: [{ role: 'status', maxBytes: 1 }] }),
      () => runScript(starter, 'sleep 40', { signal: AbortSignal.abort() }),
      () => runScript(starter, '\0', { descriptors: [hold] }),
    ];
    const pid = await pidOf(starter);
    const before = [openHere(), openIn(pid)];
    const endings = new Set<unknown>();
    for (let run = 0; run < volume(200, 50); run++) {
      const end = await ways[run % ways.length]?.();
      endings.add(end?.spawnError ?? end?.stopped ?? end?.signal ?? end?.exitCode);
    }
    await expect.poll(() => [openHere(), openIn(pid)], { timeout: 60_000 }).toEqual(before);
    const all = [0, 125, 'EINVAL', 'ENOENT', 'SIGKILL', 'cancelled', 'output'];
    expect([...endings].sort()).toEqual(all);
    expect(await pidOf(starter)).toBe(pid);
  });

  it.each<[string, string, Wishes]>([
    ['NUL in a word', 'EINVAL', { words: ['--', '/bin/sh', 'sh', '-c', 'exit 0\0rm'] }],
    ['an endless quota', 'EINVAL', { outputBytes: Number.POSITIVE_INFINITY }],
    ['an endless time', 'EINVAL', { wallMs: Number.NaN }],
    ['a descriptor that is not open', 'ENOENT', { descriptors: [NOT_OPEN] }],
    ['a number that no descriptor has', 'E2BIG', { descriptors: [{ role: 'open', fd: 2_000_000 }] }],
    ['a negative one', 'EINVAL', { descriptors: [{ role: 'open', fd: -1 }] }],
    [
      'more descriptors than it takes',
      'E2BIG',
      { descriptors: Array.from({ length: 65 }, () => ({ role: 'control' as const })) },
    ],
    ['longer words than it takes', 'E2BIG', { words: ['--', '/bin/sh', 'sh', '-c', 'x'.repeat(9_000_000)] }],
    [
      'more bytes than it takes',
      'E2BIG',
      { descriptors: [{ role: 'bytes', bytes: new Uint8Array(9_000_000) }] },
    ],
  ])('refuses %s with %s, and what it runs and starts next is as before', async (_, error, wishes) => {
    const starter = openStarter();
    const pid = await pidOf(starter);
    const beside = await startScript(starter, 'read x <&3; exit 5', { descriptors: [{ role: 'control' }] });
    expect(await starter.start(LAUNCHER, planOf('exit 0', wishes))).toBe(error);
    for (const end of endsOf(beside)) end.destroy();
    expect(await beside.exited).toMatchObject({ exitCode: 5 });
    expect(await pidOf(starter)).toBe(pid);
  });

  it('that is killed takes its children with it, and the next start has a new one', async () => {
    const starter = openStarter();
    const pid = await pidOf(starter);
    const beside = await startScript(starter, 'exec sleep 40', { descriptors: [{ role: 'control' }] });
    let child = 0;
    const first = await runScript(starter, DEAF, {
      onOutput: (_, chunk) => {
        child = Number.parseInt(textOf(chunk), 10);
        process.kill(pid, 'SIGKILL');
      },
    });
    expect(first).toMatchObject({ exitCode: null, signal: 'SIGKILL', stopped: null });
    expect(await beside.exited).toEqual({ exitCode: null, signal: 'SIGKILL', spawnError: null });
    for (const end of endsOf(beside)) end.destroy();
    await expect.poll(() => isAlive(child)).toBe(false);
    expect(child).toBeGreaterThan(1);
    expect(await pidOf(starter)).not.toBe(pid);
  });

  it('that is killed before it has answered gives the error of that, or the end of what it had started', async () => {
    const starter = openStarter();
    const pid = await pidOf(starter);
    const before = openHere();
    const runs = Array.from({ length: 20 }, () =>
      runScript(starter, 'exec sleep 40', { stdin: bytesOf('x') }),
    );
    process.kill(pid, 'SIGKILL');
    const ends = await Promise.all(runs);
    const ways = new Set(ends.map(({ spawnError, signal }) => spawnError ?? signal));
    expect([...ways].filter((way) => way !== 'ESRCH' && way !== 'SIGKILL')).toEqual([]);
    expect(await pidOf(starter)).not.toBe(pid);
    await expect.poll(openHere).toBe(before);
  });

  it('that is closed ends what it runs, and itself', async () => {
    const starter = openStarter();
    const pid = await pidOf(starter);
    const end = await runScript(starter, DEAF, { onOutput: () => starter.close() });
    expect(end).toMatchObject({ signal: 'SIGKILL', stopped: null });
    await expect
      .poll(() => [pid, Number.parseInt(textOf(end.stdout), 10)].map(isAlive))
      .toEqual([false, false]);
  });

  it('that is closed and has ended its tree is not waited for: a command ends when its sandbox has', async () => {
    const starter = openStarter();
    const child = await startScript(starter, DEAF);
    // Only a starter that cannot say that it ended everything is given time for that.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    starter.close();
    expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that nobody closes keeps no program from ending, and ends with it', async () => {
    const program = await bundle(new URL('./programs/start-and-end.ts', import.meta.url), tempDir());
    const words = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, program, LAUNCHER, ...IDENTITY];
    const { stdout, stderr, status } = spawnSync('/bin/sh', words, { encoding: 'utf8', timeout: 50_000 });
    const lines = stdout.trim().split('\n');
    const [pid] = lines.filter((line) => /^\d+$/.test(line)).map(Number);
    expect({ lines, stderr, status }).toEqual({
      lines: [
        ...['EMFILE', String(pid), 'EMFILE', 'cancelled', 'timed-out', 'output', 'SIGSEGV', 'ENOENT'],
        ...[String(pid), 'nothing is left'],
      ],
      stderr: '',
      status: 0,
    });
    await expect.poll(() => isAlive(Number(pid))).toBe(false);
  });
});

describe('a launcher', () => {
  it.each<[string, string, () => string]>([
    ['that is not there', 'ENOENT', () => '/no/such/launcher'],
    ['that is a directory', 'EACCES', () => '/'],
    ['that may not be executed', 'EACCES', () => shellProgram([], 0o644)],
    ['that ends at once', 'ESRCH', () => '/bin/true'],
    ['that answers something else', 'ESRCH', () => shellProgram(['echo hello >&3', 'exec sleep 40'])],
    ['that answers half a line and ends', 'ESRCH', () => shellProgram(['printf "started 1 4" >&3'])],
  ])('%s gives %s, leaves nothing open, and does not stand in the way of another', async (_, error, make) => {
    const starter = openStarter();
    const pid = await pidOf(starter);
    const launcher = make();
    const before = openHere();
    for (let again = 0; again < 3; again++) {
      expect(await starter.start(launcher, planOf('exit 0'))).toBe(error);
    }
    await expect.poll(openHere).toBe(before);
    expect(await pidOf(starter)).toBe(pid);
  });

  it('that never answers is given up and ended', async () => {
    const file = join(openDirectory(), 'pid');
    const launcher = shellProgram([`echo $$ >${file}.new`, `mv ${file}.new ${file}`, 'exec sleep 40']);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const started = openStarter().start(launcher, planOf('exit 0'));
    const pid = await new Promise<number>((resolve) => {
      const look = setInterval(() => {
        if (!readdirSync(join(file, '..')).includes('pid')) return;
        clearInterval(look);
        resolve(Number(readFileSync(file, 'utf8')));
      }, 10);
    });
    expect(isAlive(pid)).toBe(true);
    vi.advanceTimersByTime(10_000);
    expect(await started).toBe('ESRCH');
    vi.useRealTimers();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });
});
