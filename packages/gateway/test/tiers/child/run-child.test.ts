import { execFileSync, spawnSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { bundle } from '../../fixture/bundle.ts';
import { tempDir } from '../../fixture/temp-dir.ts';
import { bytesOf, isAlive, runScript, textOf, type Wishes } from './sample.ts';

/** The kernel takes no word of 128 KiB. */
const TOO_LONG = 'x'.repeat(131_072);

/** What is started with it must be gone; a test that fails to end it ends it here. */
function killAtEnd(pid: number): void {
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
}

describe('runChild() gives', () => {
  it('both outputs and the exit status', async () => {
    const end = await runScript('echo out; echo err >&2; exit 3');
    expect(end).toMatchObject({ exitCode: 3, signal: null, outputBytes: 8, truncated: false, stopped: null });
    expect(end).toMatchObject({ spawnError: null, read: [] });
    expect([textOf(end.stdout), textOf(end.stderr)]).toEqual(['out\n', 'err\n']);
    expect(end.wallMs).toBeGreaterThan(0);
  });

  it('the signal that a child died of, and what it wrote before', async () => {
    const end = await runScript('echo last words; kill -SEGV $$');
    expect(end).toMatchObject({ exitCode: null, signal: 'SIGSEGV', stopped: null });
    expect(textOf(end.stdout)).toBe('last words\n');
  });

  it('bytes that are no text as they are', async () => {
    const end = await runScript("printf '\\377\\000\\376\\r\\n'");
    expect([...end.stdout]).toEqual([0xff, 0, 0xfe, 0x0d, 0x0a]);
  });

  it('a complete line of 50 MB if the quota allows it', async () => {
    const end = await runScript('head -c 50000000 /dev/zero', { outputBytes: 50_000_000 });
    expect(end).toMatchObject({ exitCode: 0, truncated: false, outputBytes: 50_000_000 });
    expect(Buffer.from(end.stdout).equals(Buffer.alloc(50_000_000))).toBe(true);
  });

  it('each piece of output while the child still runs', async () => {
    const cancel = new AbortController();
    const pieces = { stdout: '', stderr: '' };
    const end = await runScript('echo first; echo second >&2; exec sleep 40', {
      signal: cancel.signal,
      onOutput: (stream, chunk) => {
        pieces[stream] += textOf(chunk);
        if (pieces.stdout !== '' && pieces.stderr !== '') cancel.abort();
      },
    });
    expect(pieces).toEqual({ stdout: 'first\n', stderr: 'second\n' });
    expect([textOf(end.stdout), textOf(end.stderr)]).toEqual(['first\n', 'second\n']);
  });
});

describe('a child has', () => {
  it('exactly the words, the directory and the input of its plan', async () => {
    const cwd = realpathSync(tempDir());
    const args = ['a name', '-c', 'echo "$0|$1|$2"; pwd -P; cat', 'zero', '', 'a b'];
    const end = await runScript('', { args, cwd, stdin: bytesOf('given') });
    expect(textOf(end.stdout)).toBe(`zero||a b\n${cwd}\ngiven`);
    const named = await runScript('', { args: ['a-name', '-c', 'ps -o args= -p $$'] });
    expect(textOf(named.stdout)).toMatch(/^a-name -c /);
  });

  it('exactly the environment of its plan, although Node would add to it', async () => {
    const before = process.env.NODE_V8_COVERAGE;
    onTestFinished(() => {
      if (before === undefined) delete process.env.NODE_V8_COVERAGE;
      else process.env.NODE_V8_COVERAGE = before;
    });
    process.env.NODE_V8_COVERAGE = tempDir();
    const plain = execFileSync('/usr/bin/env', { env: { A: '1' }, encoding: 'utf8' });
    expect(plain).toContain('NODE_V8_COVERAGE=');
    const end = await runScript('', { file: '/usr/bin/env', args: ['env'], env: { A: '1' } });
    expect(textOf(end.stdout)).toBe('A=1\n');
    const requested = { NODE_V8_COVERAGE: 'mine' };
    const own = await runScript('', { file: '/usr/bin/env', args: ['env'], env: requested });
    expect(textOf(own.stdout)).toBe('NODE_V8_COVERAGE=mine\n');
  });

  it('an empty input where the plan has none', async () => {
    expect(await runScript('wc -c')).toMatchObject({ exitCode: 0, stdout: bytesOf('0\n') });
  });

  it('an input of 3 MB to its last byte', async () => {
    const end = await runScript('wc -c', { stdin: new Uint8Array(3_000_000) });
    expect(textOf(end.stdout).trim()).toBe('3000000');
  });

  it('descriptors in the order of its plan', async () => {
    const file = join(tempDir(), 'file');
    writeFileSync(file, 'opened');
    const fd = openSync(file, 'r');
    onTestFinished(() => closeSync(fd));
    const end = await runScript('cat <&3; cat <&5; echo told >&4; echo also >&6; head -c 3 <&7', {
      descriptors: [
        { role: 'open', fd },
        { role: 'status', maxBytes: 100 },
        { role: 'bytes', bytes: bytesOf(' and written ') },
        { role: 'status', maxBytes: 100 },
        { role: 'bytes', bytes: new Uint8Array(5_000_000).fill(0x61) },
      ],
    });
    expect(end.exitCode).toBe(0);
    expect(textOf(end.stdout)).toBe('opened and written aaa');
    expect(end.read.map(textOf)).toEqual(['told\n', 'also\n']);
    expect(fstatSync(fd).isFile()).toBe(true);
  });
});

describe('a child that writes too much', () => {
  it.each([
    ['floods standard output', 'echo $$; exec yes'],
    ['floods standard error', 'echo $$; exec yes >&2'],
    ['alternates', 'echo $$; while :; do echo out; echo err >&2; done'],
    ['writes one line without end', 'echo $$; exec cat /dev/zero'],
  ])('and %s is stopped at one quota over both, and is dead', async (_, script) => {
    let reported = 0;
    const onOutput: Wishes['onOutput'] = (__, chunk) => {
      reported += chunk.length;
    };
    const end = await runScript(script, { outputBytes: 100_000, onOutput });
    expect(end).toMatchObject({ truncated: true, stopped: 'output', outputBytes: 100_000 });
    expect(end.stdout.length + end.stderr.length).toBe(100_000);
    expect(reported).toBe(100_000);
    const pid = Number.parseInt(textOf(end.stdout), 10);
    expect(pid).toBeGreaterThan(1);
    expect(isAlive(pid)).toBe(false);
  });

  it.each([
    [10, 10, false],
    [11, 10, true],
    [0, 0, false],
    [1, 0, true],
  ])('is cut at the byte: %i of %i', async (count, outputBytes, truncated) => {
    const end = await runScript(`head -c ${count} /dev/zero`, { outputBytes });
    expect(end).toMatchObject({ truncated, stopped: truncated ? 'output' : null });
    expect(end.stdout.length).toBe(Math.min(count, outputBytes));
  });

  it('keeps what came first', async () => {
    const end = await runScript('echo beginning; exec yes', { outputBytes: 12 });
    expect(textOf(end.stdout)).toBe('beginning\ny\n');
  });

  it('into a descriptor that we collect is not held, and the rest is dropped', async () => {
    const end = await runScript('head -c 20000000 /dev/zero >&3; exit 5', {
      descriptors: [{ role: 'status', maxBytes: 10 }],
    });
    expect(end.exitCode).toBe(5);
    expect(end.read.map(({ length }) => length)).toEqual([10]);
  });
});

describe('a child that does not end', () => {
  const deaf = 'trap "" TERM INT HUP; echo $$; while :; do sleep 0.05; done';

  it('is killed when the caller cancels, although it ignores every polite signal', async () => {
    const cancel = new AbortController();
    const end = await runScript(deaf, { signal: cancel.signal, onOutput: () => cancel.abort() });
    expect(end).toMatchObject({ signal: 'SIGKILL', exitCode: null, stopped: 'cancelled' });
    expect(isAlive(Number.parseInt(textOf(end.stdout), 10))).toBe(false);
    expect(getEventListeners(cancel.signal, 'abort')).toEqual([]);
  });

  it('is killed when its time is over', async () => {
    expect(await runScript(deaf, { wallMs: 50 })).toMatchObject({ signal: 'SIGKILL', stopped: 'timed-out' });
  });

  it('is killed when its time is over although it closed its outputs', async () => {
    const end = await runScript('exec >&- 2>&-; exec sleep 40', { wallMs: 300 });
    expect(end).toMatchObject({ signal: 'SIGKILL', stopped: 'timed-out' });
  });

  it('is told by the held descriptor first, and may tell how it ended', async () => {
    const cancel = new AbortController();
    const end = await runScript('echo up; read x <&3; echo told; echo done >&4; exit 7', {
      signal: cancel.signal,
      descriptors: [{ role: 'control' }, { role: 'status', maxBytes: 100 }],
      onOutput: () => cancel.abort(),
    });
    expect(end).toMatchObject({ exitCode: 7, signal: null, stopped: 'cancelled' });
    expect([textOf(end.stdout), textOf(end.read[0])]).toEqual(['up\ntold\n', 'done\n']);
  });

  it('is killed after the grace where it does not care', async () => {
    const end = await runScript(deaf, { wallMs: 50, graceMs: 50, descriptors: [{ role: 'control' }] });
    expect(end).toMatchObject({ signal: 'SIGKILL', stopped: 'timed-out' });
  });

  it('runs as long as the longest time allows', async () => {
    const end = await runScript('sleep 0.1; exit 6', { wallMs: Number.MAX_SAFE_INTEGER });
    expect(end).toMatchObject({ exitCode: 6, stopped: null });
  });

  it('is killed when the listener to its output throws, which is what the caller gets', async () => {
    let pid = 0;
    const run = runScript('echo $$; exec sleep 40', {
      onOutput: (_, chunk) => {
        pid = Number.parseInt(textOf(chunk), 10);
        throw new Error('no more paper');
      },
    });
    await expect(run).rejects.toThrow('no more paper');
    expect(pid).toBeGreaterThan(1);
    expect(isAlive(pid)).toBe(false);
  });
});

describe('the caller is not held', () => {
  it('by a descendant that left the group and holds the pipes', async () => {
    const file = join(tempDir(), 'pid');
    const holder = `setsid sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 30' ${file} 3>&3 &`;
    const script = `echo before; ${holder} while [ ! -e ${file} ]; do sleep 0.01; done; cat ${file}; exit 3`;
    const descriptors = [{ role: 'status', maxBytes: 10 }] as const;
    const end = await runScript(script, { graceMs: 50, descriptors });
    const pid = Number(textOf(end.stdout).split('\n')[1]);
    killAtEnd(pid);
    expect(end).toMatchObject({ exitCode: 3, stopped: null, truncated: false });
    // It lives: what ended the wait was not the end of the pipe.
    expect(isAlive(pid)).toBe(true);
  });

  it('by a descendant in the group, which dies with the child', async () => {
    const end = await runScript('sleep 30 & echo $!; exit 0');
    expect(end).toMatchObject({ exitCode: 0, stopped: null });
    const pid = Number.parseInt(textOf(end.stdout), 10);
    killAtEnd(pid);
    await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
  });

  it('by a child that never reads its input', async () => {
    const end = await runScript('exit 5', { stdin: new Uint8Array(10_000_000) });
    expect(end).toMatchObject({ exitCode: 5, stopped: null });
    const late = await runScript('exec sleep 40', { stdin: new Uint8Array(10_000_000), wallMs: 50 });
    expect(late).toMatchObject({ signal: 'SIGKILL', stopped: 'timed-out' });
  });

  it('by a child that never reads its descriptors and writes where it should read', async () => {
    const end = await runScript('head -c 1000 /dev/zero >&3; head -c 1000 /dev/zero >&4; exit 5', {
      descriptors: [{ role: 'bytes', bytes: new Uint8Array(10_000_000) }, { role: 'control' }],
    });
    expect(end).toMatchObject({ exitCode: 5, stopped: null });
  });

  it('by a child that closes its outputs and goes on; nor does it take that for the end', async () => {
    const end = await runScript('exec >&- 2>&-; sleep 0.2; exit 4');
    expect(end).toMatchObject({ exitCode: 4, stopped: null, outputBytes: 0 });
  });
});

describe('runChild() starts nothing', () => {
  it('that is cancelled before', async () => {
    const file = join(tempDir(), 'made');
    const script = `: >${file}`;
    const end = await runScript(script, { signal: AbortSignal.abort() });
    expect(end).toMatchObject({ stopped: 'cancelled', exitCode: null, signal: null, spawnError: null });
    expect(existsSync(file)).toBe(false);
    await runScript(script);
    expect(existsSync(file)).toBe(true);
  });

  it.each<[string, string, () => Wishes]>([
    ['that is not there', 'ENOENT', () => ({ file: '/no/such/file' })],
    ['that is a directory', 'EACCES', () => ({ file: '/' })],
    [
      'without an execute bit',
      'EACCES',
      () => {
        const file = join(tempDir(), 'plain');
        writeFileSync(file, '#!/bin/sh\n', { mode: 0o644 });
        return { file };
      },
    ],
    ['in a directory that is not there', 'ENOENT', () => ({ cwd: '/no/such/directory' })],
    ['with a word that is too long', 'E2BIG', () => ({ args: ['sh', TOO_LONG] })],
    ['with a descriptor that is not open', 'EBADF', () => ({ descriptors: [{ role: 'open', fd: 9_999 }] })],
    ['by a name that would be searched', 'EINVAL', () => ({ file: 'sh' })],
    ['without a name', 'EINVAL', () => ({ args: [] })],
    ['with NUL in the file', 'EINVAL', () => ({ file: '/bin/sh\0' })],
    ['with NUL in a word', 'EINVAL', () => ({ args: ['sh', '-c', 'exit 0\0rm'] })],
    ['with NUL in its name', 'EINVAL', () => ({ args: ['s\0h', '-c', 'exit 0'] })],
    ['with NUL in a variable', 'EINVAL', () => ({ env: { A: 'x\0B=y' } })],
    ['with NUL in the name of a variable', 'EINVAL', () => ({ env: { 'A\0': 'x' } })],
    ['with NUL in the directory', 'EINVAL', () => ({ cwd: '/\0' })],
    ['with a variable that would be another', 'EINVAL', () => ({ env: { 'LD_PRELOAD=/x': 'y' } })],
    ['with a variable without a name', 'EINVAL', () => ({ env: { '': 'y' } })],
    ['with an output quota that is no number', 'EINVAL', () => ({ outputBytes: Number.NaN })],
    ['with an endless output quota', 'EINVAL', () => ({ outputBytes: Number.POSITIVE_INFINITY })],
    ['with an endless time', 'EINVAL', () => ({ wallMs: Number.POSITIVE_INFINITY })],
    ['with a negative grace', 'EINVAL', () => ({ graceMs: -1 })],
    ['with an endless read', 'EINVAL', () => ({ descriptors: [{ role: 'status', maxBytes: Number.NaN }] })],
  ])('%s: %s', async (_, spawnError, wishes) => {
    const signal = new AbortController().signal;
    const read = { role: 'status', maxBytes: 1 } as const;
    const { descriptors = [], ...others } = wishes();
    const end = await runScript('exit 0', { signal, ...others, descriptors: [...descriptors, read] });
    expect(end).toMatchObject({ spawnError, exitCode: null, signal: null, stopped: null, outputBytes: 0 });
    expect(end.read.at(-1)).toEqual(new Uint8Array(0));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('and kills nobody where the cancellation comes between the failure and its report', async () => {
    const cancel = new AbortController();
    const run = runScript('', { file: '/no/such/file', signal: cancel.signal });
    cancel.abort();
    expect(await run).toMatchObject({ spawnError: 'ENOENT', exitCode: null });
  });
});

describe('runChild() leaves nothing open', () => {
  const openDescriptors = () => readdirSync('/dev/fd').length;

  it('after many runs that end in every way', async () => {
    const ways: Wishes[] = [
      { stdin: bytesOf('x') },
      {
        descriptors: [
          { role: 'control' },
          { role: 'bytes', bytes: bytesOf('x') },
          { role: 'status', maxBytes: 1 },
        ],
      },
      { outputBytes: 0 },
      { file: '/no/such/file', stdin: bytesOf('x'), descriptors: [{ role: 'control' }] },
      { args: ['sh', TOO_LONG], descriptors: [{ role: 'control' }] },
      { descriptors: [{ role: 'control' }, { role: 'open', fd: 9_999 }] },
    ];
    const { signal } = new AbortController();
    const endings = new Set<string>();
    await runScript('echo x', { signal });
    const before = openDescriptors();
    for (let run = 0; run < volume(300, 60); run++) {
      const end = await runScript('echo x', { signal, ...ways[run % ways.length] });
      endings.add(end.spawnError ?? end.stopped ?? 'ended');
    }
    expect(openDescriptors()).toBe(before);
    expect([...endings].sort()).toEqual(['E2BIG', 'EBADF', 'ENOENT', 'ended', 'output']);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('that would keep a program from ending, and says so where descriptors have run out', async () => {
    const program = await bundle(new URL('./programs/run-and-end.ts', import.meta.url), tempDir());
    const script = 'ulimit -n 64; exec "$0" "$1"';
    const { stdout, stderr, status } = spawnSync('/bin/sh', ['-c', script, process.execPath, program], {
      encoding: 'utf8',
      timeout: 50_000,
    });
    expect({ lines: stdout.trim().split('\n'), stderr, status }).toEqual({
      lines: ['0', 'cancelled', 'timed-out', 'output', 'ENOENT', 'E2BIG', 'EMFILE', '0', 'nothing is left'],
      stderr: '',
      status: 0,
    });
  });
});
