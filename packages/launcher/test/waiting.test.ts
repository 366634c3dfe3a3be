import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { volume } from '../../../tests/volume/volume.ts';
import {
  buildBoth,
  endAll,
  hasNamespaces,
  identity,
  isRoot,
  kinds,
  living,
  makeFolder,
  REPORT,
  removeFolder,
  sanitizerEnv,
  shipped,
  start,
} from './launch.ts';
import { Starter } from './starter.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const uid = 60_171;
const user = identity(uid);
const mark = `86403.${process.pid}`;

beforeAll(() => {
  const { shipped: home, sanitized } = buildBoth(folder);
  // Another user executes it here, who may not walk to the project.
  const copy = join(folder, 'launcher');
  copyFileSync(home, copy);
  chmodSync(copy, 0o755);
  Object.assign(built, { shipped: copy, sanitized });
});
afterEach(() => void endAll(mark));
afterAll(() => removeFolder(folder));

/** The arguments as sent on a descriptor: their number, then each with a NUL after it. */
function packed(args: readonly string[], count = args.length): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(count);
  return Buffer.concat([head, Buffer.from(args.map((each) => `${each}\0`).join(''))]);
}

type Waiting = {
  readonly pid: number;
  readonly give: (bytes: Buffer) => void;
  readonly end: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
};

/** Starts a launcher that waits for its arguments on descriptor 4; its status is 3. */
function wait(launcher: string, args: readonly string[] = ['words=4']): Waiting {
  const child = spawn(launcher, args, {
    env: { ...sanitizerEnv, INHERITED: 'yes' },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    ...(isRoot ? { uid, gid: uid } : {}),
  });
  child.stdio[3]?.on('data', () => {});
  const pipe = child.stdio[4] as NodeJS.WritableStream;
  pipe.on('error', () => {});
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('latin1').on('data', (chunk) => {
      text[name] += chunk;
    });
  }
  const end = new Promise<{ code: number | null; stdout: string; stderr: string }>((done) => {
    child.once('close', (code) => done({ code, ...text }));
  });
  return { pid: child.pid ?? 0, give: (bytes) => void pipe.end(bytes), end };
}

async function waitFor(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((wake) => setTimeout(wake, 5));
}

const echo = ['--', '/bin/echo', 'echo', 'started'];

describe.each(kinds())('the %s launcher', (kind) => {
  describe('that waits for its arguments', () => {
    test('runs as they say, with the variables that they set alone', async () => {
      const waiting = wait(built[kind]);
      waiting.give(packed(['status=3', 'set=ONLY=this', '--', '/usr/bin/env', 'env']));
      expect(await waiting.end).toEqual({ code: 0, stdout: 'ONLY=this\n', stderr: '' });
    });

    test('is closed to others of its user while it waits, and shows no arguments later', async () => {
      const waiting = wait(built[kind]);
      // The files of a process that can be looked into are its own user's.
      await waitFor(() => statSync(`/proc/${waiting.pid}/environ`).uid === 0);
      waiting.give(packed(['status=3', '--', '/bin/sleep', 'sleep', mark]));
      await waitFor(() => living(`sleep\0${mark}`).length === 1);
      expect(readFileSync(`/proc/${waiting.pid}/cmdline`, 'latin1')).not.toContain(mark);
      expect(endAll(mark)).toBe(1);
      expect((await waiting.end).code).toBe(137);
    });

    test('goes without a word when none come', async () => {
      const waiting = wait(built[kind]);
      waiting.give(Buffer.alloc(0));
      expect(await waiting.end).toEqual({ code: 125, stdout: '', stderr: '' });
    });

    const wrong: readonly (readonly [what: string, bytes: Buffer])[] = [
      ['less than their number', Buffer.of(4, 0, 0)],
      ['a number alone', packed([], 4)],
      ['a last word without its end', packed(echo).subarray(0, -1)],
      ['one fewer than they say', packed(echo, 5)],
      ['one more than they say', packed(echo, 3)],
      ['a byte after them', Buffer.concat([packed(echo), Buffer.of(0)])],
      ['none', packed([])],
      ['arguments of another waiting launcher', packed(['words=4', ...echo])],
      ['a starter', packed(['mode=serve', 'requests=3'])],
      ['the descriptor that they came on', packed(['keep=4', ...echo])],
      ['more than 8 MiB', Buffer.concat([packed(echo), Buffer.alloc(8_400_000, 'x')])],
    ];
    test.each(wrong)('starts nothing when there are %s', async (_, bytes) => {
      const waiting = wait(built[kind]);
      waiting.give(bytes);
      const end = await waiting.end;
      expect([end.code, end.stdout]).toEqual([125, '']);
      expect(end.stderr).toMatch(/^Cannot start the command: .*\n$/);
    });

    test.each([['words='], ['words=2'], ['words=77'], ['words=x']])('refuses %s', async (arg) => {
      const end = await wait(built[kind], [arg]).end;
      expect(end.code).toBe(125);
      expect(end.stderr).toMatch(/is not an open descriptor, expected/);
    });
  });

  const variables: readonly (readonly [args: readonly string[], why: RegExp])[] = [
    [['set=', ...echo], /is not a variable/],
    [['set=A', ...echo], /is not a variable/],
    [['set==b', ...echo], /is not a variable/],
    [['set=A=1', 'set=A=2', ...echo], /twice/],
    [[...Array.from({ length: 4097 }, (_, at) => `set=A${at}=`), ...echo], /too many/],
    [['map=3', ...echo], /both or none/],
  ];
  test.each(variables)('refuses %j', async (args, why) => {
    const waiting = wait(built[kind], args);
    const end = await waiting.end;
    expect(end.code).toBe(125);
    expect(end.stderr).toMatch(why);
  });

  test('gives the command the inherited variables until one is set', async () => {
    const env = ['--', '/usr/bin/env', 'env'];
    expect((await wait(built[kind], env).end).stdout).toContain('INHERITED=yes\n');
    expect((await wait(built[kind], ['set=A=b', ...env]).end).stdout).toBe('A=b\n');
  });

  test('starts nothing when its control has ended before', async () => {
    const closed = openSync('/dev/null', 'r');
    const { end } = start(built[kind], [...user, 'control=4'], ['/bin/echo', 'started'], [closed]);
    const { code, stdout, status, lines } = await end;
    closeSync(closed);
    expect([code, stdout.toString(), lines]).toEqual([125, '', ['launcher=1', 'cancelled=1']]);
    expect(status.has('pid')).toBe(false);
  });

  describe('with a sandbox that is created first', () => {
    const sandbox = ['mode=run', 'status=3', 'words=4', ...(hasNamespaces ? ['ns=1'] : [])];

    test('runs what it is told there, later', async () => {
      const waiting = wait(built[kind], sandbox);
      await new Promise((wake) => setTimeout(wake, 100));
      waiting.give(
        packed([
          'cwd=/usr',
          'set=A=b',
          'output=9999',
          'facts=1',
          '--',
          '/bin/sh',
          'sh',
          '-c',
          'echo $$ $A; pwd',
        ]),
      );
      const { code, stdout } = await waiting.end;
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(hasNamespaces ? /^2 b\n\/usr\n$/ : /^\d+ b\n\/usr\n$/),
      ]);
    });

    test.each([
      [['uid=7', 'gid=7', ...echo], /comes after the sandbox was created/],
      [['ns=1', ...echo], /comes after/],
      [['control=3', ...echo], /comes after/],
      [['seccomp=3', ...echo], /comes after/],
      [['keep=3', ...echo], /comes after/],
      [['words=3', ...echo], /comes after/],
      [['--', 'echo', 'echo'], /not an absolute path/],
      [['cwd=/'], /too little after it/],
    ])('accepts no argument of the sandbox any more: %j', async (args, why) => {
      const waiting = wait(built[kind], sandbox);
      waiting.give(packed(args));
      const { code, stdout, stderr } = await waiting.end;
      expect([code, stdout]).toEqual([125, '']);
      expect(stderr).toMatch(why);
    });

    test('goes without a word when nobody tells it anything, and takes no command of its own', async () => {
      const waiting = wait(built[kind], sandbox);
      waiting.give(Buffer.alloc(0));
      expect(await waiting.end).toEqual({ code: 125, stdout: '', stderr: '' });
      const both = await wait(built[kind], [...sandbox, ...echo]).end;
      expect([both.code, both.stdout]).toEqual([125, '']);
      expect(both.stderr).toMatch(/although more arguments follow/);
    });
  });

  describe('with a map of the starter', () => {
    const owner = 60_172;
    const text = 'stat -c %u .; echo new > new; readlink /proc/$$/ns/user';
    const args = (map: string) => ['null', 'out', 'out', map, '--', ...user];

    test('shows the workspace as the run of its own', async () => {
      const path = join(folder, `${kind}-workspace`);
      mkdirSync(path, { mode: 0o700 });
      if (isRoot) chownSync(path, owner, owner);
      const directory = openSync(path, 'r');
      const starter = new Starter(built[kind]);
      const given = ['null', 'out', 'out', `map:${owner}:${owner}:${uid}:${uid}`, `read:${directory}`];
      const kept = [`uid=${uid}`, `gid=${uid}`, 'map=3', 'workspace=4', `owner=${owner}:${owner}`, 'chdir=1'];
      starter.send(['start', '1', ...given, '--', ...kept, '--', '/bin/sh', 'sh', '-c', text]);
      const told = isRoot ? await starter.outputs(1) : await starter.replies('failed 1');
      closeSync(directory);
      starter.socket.end();
      expect((await starter.end).code).toBe(0);
      expect(isRoot ? told[0] : told[2]).toMatch(isRoot ? new RegExp(`^${uid}\nuser:`) : /^map$/);
      const made = readdirSync(path).map((name) => statSync(join(path, name)).uid);
      expect(made).toEqual(isRoot ? [owner] : []);
    });

    test('makes a map once for each group of ids, and keeps eight', async () => {
      const starter = new Starter(built[kind]);
      // Ids that the starter's own user may map: root any, others only their own.
      const ids = (at: number) => (isRoot ? `map:${at}:${at}:${uid}:${uid}` : 'map:0:0:0:0');
      const space = async (id: number, map: string) => {
        const sleeper = ['mode=exec', 'keep=3', '--', '/bin/sleep', 'sleep', mark];
        starter.send(['start', String(id), ...args(map), ...sleeper]);
        const replies = await Promise.race([
          starter.replies(`started ${id}`),
          starter.replies(`failed ${id}`),
        ]);
        if (replies[0] === 'failed') return replies.join(' ');
        await waitFor(() => readFileSync(`/proc/${replies[2]}/cmdline`, 'latin1').includes(mark));
        return readlinkSync(`/proc/${replies[2]}/fd/3`);
      };
      const first = await space(1, ids(1));
      expect(first).toMatch(isRoot ? /^user:/ : /^failed 1 map /);
      const made = [first];
      for (let at = 2; isRoot && at <= 9; at += 1) made.push(await space(at, ids(at)));
      expect(new Set(made).size).toBe(isRoot ? 9 : 1);
      // The first one made room for the ninth, and the others are there still.
      if (isRoot) expect(made).toContain(await space(19, ids(9)));
      if (isRoot) expect(made).not.toContain(await space(11, ids(1)));
      starter.socket.end();
      await starter.end;
    });
  });
});

test('the sanitized launcher answers any arguments on a descriptor with a refusal or a run', async () => {
  const arg = fc.oneof(
    fc.constantFrom('--', '/bin/true', 'true', 'mode=exec', 'set=A=b', 'keep=3', 'status=3', 'words=4'),
    fc.string().map((each) => each.replaceAll('\0', '')),
  );
  const sent = fc.oneof(
    fc
      .tuple(fc.array(arg, { maxLength: 6 }), fc.option(fc.nat(8), { nil: undefined }))
      .map((each) => packed(...each)),
    fc.array(arg, { maxLength: 4 }).map((each) => packed([...each, '--', '/bin/true', 'true'])),
    fc.uint8Array({ maxLength: 64 }).map((each) => Buffer.from(each)),
  );
  await fc.assert(
    fc.asyncProperty(sent, async (bytes) => {
      const waiting = wait(built.sanitized);
      waiting.give(bytes);
      const { code, stderr } = await waiting.end;
      expect(stderr).not.toMatch(REPORT);
      expect([0, 125, 126, 127]).toContain(code);
      if (code === 125 && bytes.length > 0) expect(stderr).toMatch(/^Cannot start the command: /);
    }),
    { numRuns: volume(100, 30) },
  );
});
