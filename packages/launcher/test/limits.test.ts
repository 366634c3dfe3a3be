import { spawn } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { volume } from '../../../tests/volume/volume.ts';
import {
  buildBoth,
  endAll,
  hasNamespaces,
  identity,
  isRoot,
  kinds,
  LOOK_AGAIN_MS,
  living,
  makeFolder,
  removeFolder,
  runScript,
  sanitizerEnv,
  shipped,
  start,
} from './launch.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const user = identity(60_111);
/** All byte values, and no long repetition. */
const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 31 + (at >> 8)) & 0xff));
const file = join(folder, 'bytes');

beforeAll(() => {
  Object.assign(built, buildBoth(folder));
  writeFileSync(file, bytes);
});
afterAll(() => removeFolder(folder));

/** What the kernel calls each limit, and what prlimit(1) does. */
const LIMITS = [
  ['cpu', 77, 'Max cpu time', '--cpu'],
  ['data', 123_456_789, 'Max data size', '--data'],
  ['fsize', 1_234_567, 'Max file size', '--fsize'],
  ['nofile', 44, 'Max open files', '--nofile'],
  ['nproc', 4000, 'Max processes', '--nproc'],
  ['stack', 4_000_000, 'Max stack size', '--stack'],
] as const;

describe.each(kinds())('the %s launcher', (kind) => {
  const run = (args: readonly string[], script: string) => runScript(built[kind], [...user, ...args], script);
  // The memory that AddressSanitizer reserves is above any useful limit of data.
  const limits = LIMITS.filter(([key]) => kind === 'shipped' || key !== 'data');

  test.each(limits)(
    'sets %s to %i, soft and hard, and it cannot be raised',
    async (key, value, name, option) => {
      for (const mode of ['mode=run', 'mode=exec']) {
        const script = `prlimit --pid $$ ${option}=${value + 1}:${value + 1}; exec cat /proc/self/limits`;
        const end = await run([mode, `${key}=${value}`], script);
        expect(end.stdout.toString()).toMatch(new RegExp(`^${name} +${value} +${value} `, 'm'));
        expect(end.stdout.toString()).toMatch(/^Max core file size +0 +0 /m);
        expect(end.stderr.toString()).toContain('Operation not permitted');
      }
    },
  );

  test('lets a command lower its limits, so that a refusal to raise them says something', async () => {
    const end = await run(['nofile=44'], 'prlimit --pid $$ --nofile=43:43; exec cat /proc/self/limits');
    expect(end.stdout.toString()).toMatch(/^Max open files +43 +43 /m);
  });

  test('refuses a limit above its own, and lowers only that of open files', async () => {
    const lower = ['/bin/sh', '-c', 'ulimit -n 100; ulimit -f 1000; exec "$0" "$@"', built[kind]];
    const outer = (args: readonly string[]) => [...lower, ...args, '--', '/bin/sh', 'sh', '-c', 'ulimit -n'];
    const files = await shell(outer([...user, 'nofile=5000']));
    expect([files.code, files.stdout]).toEqual([0, '100\n']);
    const size = await shell(outer([...user, 'fsize=999999999999']));
    expect([size.code, size.stdout]).toEqual([125, '']);
    expect(size.stderr).toContain('above the hard limit');
  });

  test('ends a tree of spinning processes when all of it has used its processor time', async () => {
    const spin = 'while :; do :; done';
    for (const args of [[], ...(hasNamespaces ? [['ns=1']] : [])]) {
      const end = await run(
        ['cpums=150', 'wallms=50000', ...args],
        `(${spin}) & (${spin}) & (${spin} &) ; wait`,
      );
      expect([end.status.get('limit'), end.status.get('signal'), end.code]).toEqual(['cpu', '9', 137]);
      const used = Number(end.status.get('utime_us')) + Number(end.status.get('stime_us'));
      expect(used).toBeGreaterThanOrEqual(150_000);
      expect(end.status.get('left')).toBe('3');
    }
  });

  test('counts the processor time of children that a living process has waited for', async () => {
    const burn = 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done';
    const end = await run(['cpums=200', 'wallms=50000'], `while :; do (${burn}); done`);
    expect(end.status.get('limit')).toBe('cpu');
  });

  test('does not end a command that sleeps for using the processor', async () => {
    const end = await run(['cpums=60'], 'sleep 0.3; exit 4');
    expect([end.status.get('limit'), end.code]).toEqual([undefined, 4]);
  });

  test('says that the kernel ended a command for its processor time', async () => {
    const end = await run(['cpu=1'], 'while :; do :; done');
    expect([end.status.get('limit'), end.status.get('signal')]).toEqual(['cpu', '9']);
  });

  test('ends a command that only waits when its time is over', async () => {
    const end = await run(['wallms=150'], 'echo begun; sleep 1000');
    expect([end.status.get('limit'), end.code]).toEqual(['wall', 137]);
    expect(end.stdout.toString()).toBe('begun\n');
  });

  test('bounds a fork bomb and leaves nothing of it', async () => {
    const mark = `bomb-${kind}-${process.pid}`;
    // Without a user of its own the limit would count everything that the user runs.
    const own = isRoot ? user : ['ns=1'];
    const started = isRoot || hasNamespaces;
    let peak = 0;
    do {
      // Who gets no more children tries again, and leaves the processor to the others meanwhile.
      const bombWords = [
        '/usr/bin/perl',
        '-e',
        'defined fork or select(undef, undef, undef, 0.05) while 1',
        mark,
      ];
      const { end } = start(built[kind], [...own, 'nproc=40', 'wallms=1000'], bombWords);
      const look = setInterval(() => {
        peak = Math.max(peak, living(mark).length);
      }, 50);
      const bomb = await end;
      clearInterval(look);
      expect(living(mark)).toEqual([]);
      expect(bomb.status.get(started ? 'limit' : 'failed')).toMatch(started ? /^wall$/ : /errno=/);
      expect(peak).toBeLessThanOrEqual(42);
      // The control: there was a bomb to bound.
    } while (started && peak <= 20);
  });

  describe('with a quota of output', () => {
    test('moves both streams unchanged when it is not passed', async () => {
      const end = await run([`output=${2 * bytes.length}`], `cat ${file}; cat ${file} >&2`);
      expect(end.stdout.equals(bytes)).toBe(true);
      expect(end.stderr.equals(bytes)).toBe(true);
      expect(end.status.get('output_bytes')).toBe(String(2 * bytes.length));
      expect([end.status.get('limit'), end.code]).toEqual([undefined, 0]);
    });

    test('stops at exactly that many bytes of both streams together', async () => {
      const end = await run(['output=100000'], `cat ${file}; cat ${file} >&2; sleep 1000`);
      expect(end.stdout.length + end.stderr.length).toBe(100_000);
      expect(bytes.subarray(0, end.stdout.length).equals(end.stdout)).toBe(true);
      expect(bytes.subarray(0, end.stderr.length).equals(end.stderr)).toBe(true);
      expect([end.status.get('limit'), end.status.get('output_bytes')]).toEqual(['output', '100000']);
    });

    test('ends an endless flood on both streams', async () => {
      const end = await run(['output=1000000'], 'cat /dev/zero >&2 & cat /dev/zero');
      expect(end.stdout.length + end.stderr.length).toBe(1_000_000);
      expect(end.status.get('limit')).toBe('output');
    });

    test('forwards min(written, quota) bytes whatever both are', async () => {
      const sizes = fc.record({
        out: fc.nat(70_000),
        err: fc.nat(70_000),
        quota: fc.integer({ min: 1, max: 150_000 }),
      });
      await fc.assert(
        fc.asyncProperty(sizes, async ({ out, err, quota }) => {
          const end = await run([`output=${quota}`], `head -c ${out} ${file}; head -c ${err} ${file} >&2`);
          expect(end.stdout.length + end.stderr.length).toBe(Math.min(out + err, quota));
          expect(end.status.get('limit')).toBe(out + err > quota ? 'output' : undefined);
        }),
        { numRuns: volume(25, 8) },
      );
    });

    test('with cut=1 passes on the first and the last bytes, and says how many are missing, whatever is written', async () => {
      const sizes = fc.record({
        out: fc.nat(70_000),
        err: fc.nat(70_000),
        quota: fc.integer({ min: 1, max: 150_000 }),
      });
      await fc.assert(
        fc.asyncProperty(sizes, async ({ out, err, quota }) => {
          const script = `head -c ${out} ${file}; head -c ${err} ${file} >&2; exit 4`;
          const end = await run([`output=${quota}`, 'cut=1'], script);
          expect([end.status.get('limit'), end.code]).toEqual([undefined, 4]);
          const parts = [
            cutOf(end.stdout, bytes.subarray(0, out), end.status.get('dropped_stdout')),
            cutOf(end.stderr, bytes.subarray(0, err), end.status.get('dropped_stderr')),
          ];
          expect(parts.every(({ isWhole }) => isWhole)).toBe(true);
          const kept = parts.reduce((sum, part) => sum + part.kept, 0);
          expect(kept).toBeLessThanOrEqual(quota);
          // A few bytes within a character may be left out with its beginning.
          expect(kept).toBeGreaterThanOrEqual(Math.min(out + err, quota - 6));
          if (out + err <= quota) expect(kept).toBe(out + err);
        }),
        { numRuns: volume(25, 8) },
      );
    });

    test('with cut=1 lets a flood go on to its end, and counts all of it', async () => {
      const end = await run(['output=100000', 'cut=1'], 'head -c 30000000 /dev/zero; echo end');
      expect(end.stdout.subarray(-4).toString()).toBe('end\n');
      expect([end.code, end.status.get('dropped_stdout')]).toEqual([0, String(30_000_004 - 100_000)]);
    });

    test('with flood=N ends a run that has written N bytes after what is passed on, and not before', async () => {
      const args = ['output=1000', 'cut=1', 'flood=300000'];
      const within = await run(args, 'head -c 250000 /dev/zero; echo end');
      expect([within.status.get('limit'), within.code]).toEqual([undefined, 0]);
      const end = await run(args, 'echo begin; cat /dev/zero');
      expect([end.status.get('limit'), end.code]).toEqual(['output', 137]);
      expect(end.stdout.subarray(0, 6).toString()).toBe('begin\n');
      expect(Number(end.status.get('dropped_stdout'))).toBeGreaterThan(298_000);
    });

    test('with cut=1 keeps its clocks during a flood on both streams', async () => {
      const end = await run(['output=1000', 'cut=1', 'wallms=300'], 'cat /dev/zero >&2 & cat /dev/zero');
      expect([end.status.get('limit'), end.code]).toEqual(['wall', 137]);
    });

    test.each([
      ['a pipe', '"$@" | cat'],
      ['a file', '"$@" > "$OUT"; cat "$OUT"'],
    ])('does the same when its own output is %s', async (_, script) => {
      const out = join(folder, `out-${kind}`);
      for (const quota of [bytes.length, 50_000]) {
        const args = [built[kind], ...user, `output=${quota}`, '--', '/bin/cat', 'cat', file];
        const end = await shell(['/bin/sh', '-c', `OUT=${out}; ${script}`, 'sh', ...args]);
        expect(Buffer.from(end.stdout, 'latin1').equals(bytes.subarray(0, quota))).toBe(true);
      }
    });

    test('is not held by a process that keeps the streams and outlives the command', async () => {
      const mark = `4242.${process.pid}${kind.length}`;
      const end = await run(['output=1000'], `setsid sleep ${mark} & echo begun`);
      expect(end.stdout.toString()).toBe('begun\n');
      expect([end.code, end.status.get('left')]).toEqual([0, '1']);
      expect(endAll(mark)).toBe(0);
    });

    test('lets the command open its output by name', async () => {
      for (const args of [[], ...(hasNamespaces ? [['ns=1']] : [])]) {
        const end = await run(['output=1000', ...args], 'echo x > /dev/stdout; echo y > /dev/stderr');
        expect([end.stdout.toString(), end.stderr.toString()]).toEqual(['x\n', 'y\n']);
      }
      const bare = await run([], 'echo x > /dev/stdout');
      expect(bare.stderr.toString()).toMatch(/No such device|cannot create/);
    });

    test('ends the writer when its reader is gone', async () => {
      const started = start(built[kind], [...user, 'output=9000000000'], ['/bin/cat', '/dev/zero']);
      started.child.stdout?.once('data', () => started.child.stdout?.destroy());
      const end = await started.end;
      expect(end.status.get('signal')).toBe('13');
    });

    test('passes all of it on to a reader that is slow, after a command that has ended', async () => {
      const args = ['/usr/bin/head', '-c', '3000000', '/dev/zero'];
      const started = start(built[kind], [...user, 'output=9000000000'], args);
      const { stdout } = started.child;
      stdout?.on('data', () => {
        stdout.pause();
        setTimeout(() => stdout.resume(), 2);
      });
      const end = await started.end;
      expect([end.stdout.length, end.status.get('output_bytes')]).toEqual([3_000_000, '3000000']);
    });

    test('keeps its clocks when the reader does not read', async () => {
      const begun = join(folder, `begun-${kind}`);
      writeFileSync(begun, '');
      chmodSync(begun, 0o666);
      const started = start(
        built[kind],
        [...user, 'output=9000000000', 'wallms=300', 'control=4'],
        ['/bin/sh', '-c', `echo begun > ${begun}; exec cat /dev/zero`],
        ['pipe'],
      );
      started.child.stdout?.pause();
      started.child.stdio[4]?.on('error', () => {});
      const pause = () => new Promise((wake) => setTimeout(wake, LOOK_AGAIN_MS));
      while (readFileSync(begun, 'utf8') === '') await pause();
      while (living('/dev/zero').some((pid) => parentOf(pid) === started.child.pid)) await pause();
      started.child.stdout?.resume();
      expect((await started.end).status.get('limit')).toBe('wall');
    });
  });
});

const CUT_NOTE = /\n\[palisade: (\d+) bytes of std(?:out|err) left out here; [^\]]*\]\n/;

/** Whether a stream is the beginning and the end of what was written, with a true note between them. */
function cutOf(got: Buffer, written: Buffer, dropped = '0') {
  const text = got.toString('latin1');
  const [note = '', told = '0'] = CUT_NOTE.exec(text) ?? [];
  const at = note === '' ? text.length : text.indexOf(note);
  const [head, tail] = [got.subarray(0, at), got.subarray(at + note.length)];
  const end = written.subarray(written.length - tail.length);
  const isWhole =
    told === dropped &&
    head.equals(written.subarray(0, head.length)) &&
    tail.equals(end) &&
    head.length + Number(dropped) + tail.length === written.length;
  return { isWhole, kept: head.length + tail.length };
}

/** Null where it has ended meanwhile. */
function parentOf(pid: number): number | null {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
  } catch {
    return null;
  }
}

/** Runs arguments as they are, without a launcher before them. */
function shell(args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(args[0] ?? '', args.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: '/usr/bin:/bin', ...sanitizerEnv },
  });
  const text = { stdout: '', stderr: '' };
  child.stdout.setEncoding('latin1').on('data', (chunk) => {
    text.stdout += chunk;
  });
  child.stderr.setEncoding('latin1').on('data', (chunk) => {
    text.stderr += chunk;
  });
  return new Promise((done) => child.once('close', (code) => done({ code, ...text })));
}
