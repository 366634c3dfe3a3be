import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildBoth,
  hasNamespaces,
  identity,
  isRoot,
  kinds,
  makeFolder,
  removeFolder,
  runScript,
  shipped,
  start,
} from './launch.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const uid = 60_131;
const user = identity(uid);

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterAll(() => removeFolder(folder));

/** mkdir(2) on x64 and mkdirat(2) on arm64: what mkdir(1) calls. */
const MKDIR = { x64: 83, arm64: 34 }[process.arch as 'x64' | 'arm64'];

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

function program(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, whenTrue, whenFalse, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

/** Loads the number of the system call; EPERM for that one, all others pass. */
const noMkdir = program([
  [0x20, 0, 0, 0],
  [0x15, 0, 1, MKDIR],
  [0x06, 0, 0, 0x0005_0001],
  [0x06, 0, 0, 0x7fff_0000],
]);

/** Lines of the form that the gateway reads: printable, and a backslash only where it begins an escape. */
const LINE = /^[a-z][a-z_.]*=(?:[ -[\]-~]|\\x[0-9a-f]{2})*$/;

describe.each(kinds())('the %s launcher', (kind) => {
  const run = (args: readonly string[], script: string) => runScript(built[kind], [...user, ...args], script);

  function withFilter(bytes: Buffer, script: string) {
    const started = start(built[kind], [...user, 'seccomp=4'], ['/bin/sh', '-c', script], ['pipe']);
    (started.child.stdio[4] as NodeJS.WritableStream).end(bytes);
    return started.end;
  }

  describe('with a seccomp filter', () => {
    const script = `cd ${folder}; rm -rf made; mkdir made; grep Seccomp: /proc/self/status`;

    test('installs it for the command', async () => {
      const end = await withFilter(noMkdir, `cd /tmp; mkdir made-${kind}; grep Seccomp: /proc/self/status`);
      expect(end.stderr.toString()).toContain('Operation not permitted');
      expect(end.stdout.toString()).toBe('Seccomp:\t2\n');
    });

    test('has none without being asked', async () => {
      const end = await run(
        [],
        `cd $(mktemp -d) && mkdir made && rmdir made && rmdir $PWD; grep Seccomp: /proc/self/status`,
      );
      expect(end.stderr.toString()).toBe('');
      expect(end.stdout.toString()).toBe('Seccomp:\t0\n');
    });

    const wrong: readonly (readonly [what: string, bytes: Buffer, failed: RegExp])[] = [
      ['empty', Buffer.alloc(0), /^seccomp-read errno=22 EINVAL$/],
      ['cut off', noMkdir.subarray(0, -3), /^seccomp-read errno=22 EINVAL$/],
      ['no program', Buffer.alloc(16, 0xff), /^seccomp errno=22 EINVAL$/],
      ['too long', Buffer.alloc(8 * 4097), /^seccomp-read errno=7 E2BIG$/],
    ];
    test.each(wrong)('starts nothing when it is %s', async (_, bytes, failed) => {
      const end = await withFilter(bytes, script);
      expect(end.status.get('failed')).toMatch(failed);
      expect([end.code, end.stdout.toString()]).toEqual([125, '']);
    });
  });

  describe('with Landlock rules', () => {
    const system = ['/usr', '/bin', '/lib', '/lib64', '/etc', '/proc', '/dev/null'];
    const readable = system.map((path) => `ro=${path}`);

    test('lets the command write below rw and read below ro, and nothing else', async () => {
      const [open, closed] = ['open', 'closed'].map((name) => join(folder, `${kind}-${name}`));
      for (const each of [open, closed]) {
        mkdirSync(each ?? '');
        chmodSync(each ?? '', 0o777);
      }
      writeFileSync(join(closed ?? '', 'secret'), 'secret\n');
      const script = `echo new > ${open}/new && cat ${open}/new; cat ${closed}/secret; echo new > ${closed}/new; head -c3 /etc/passwd | wc -c`;
      const end = await run([...readable, `rw=${open}`], script);
      expect(end.stdout.toString()).toBe('new\n3\n');
      expect(end.stderr.toString().match(/Permission denied/g)).toHaveLength(2);
      const control = await run([], script);
      expect(control.stdout.toString()).toBe('new\nsecret\n3\n');
      expect(control.stderr.toString()).toBe('');
    });

    test('lets the command neither signal the launcher nor connect', async () => {
      const script =
        'kill -0 $PPID; perl -MSocket -e \'socket(my $s, PF_INET, SOCK_STREAM, 0); print connect($s, sockaddr_in(9, inet_aton("127.0.0.1"))) ? "on" : "$!"\'';
      const end = await run([...readable, 'rw=/'], script);
      expect(end.stderr.toString()).toContain('not permitted');
      expect(end.stdout.toString()).toBe('Permission denied');
      expect((await run([], script)).stdout.toString()).toBe('Connection refused');
    });

    test('starts nothing when a path is not there', async () => {
      const end = await run(['ro=/nowhere'], 'echo started');
      expect([end.code, end.status.get('failed')]).toEqual([125, 'landlock-path errno=2 ENOENT']);
    });
  });

  describe('with a workspace', () => {
    const owner = 60_777;
    const script = 'cat own; echo more >> own; cat other; echo new > new; mkdir dir; stat -c %u own new dir';

    test.each(['mode=run', 'mode=exec', 'ns=1'])(
      'shows its owner as the run in %s, and others as nobody',
      async (arg) => {
        const path = join(folder, `${kind}-${arg}`);
        mkdirSync(path, { mode: 0o700 });
        for (const name of ['own', 'other']) writeFileSync(join(path, name), `${name}\n`, { mode: 0o600 });
        if (isRoot) for (const each of [path, join(path, 'own')]) chownSync(each, owner, owner);
        if (isRoot) chownSync(join(path, 'other'), 60_778, 60_778);
        const directory = openSync(path, 'r');
        const args = [`uid=${uid}`, `gid=${uid}`, 'workspace=4', `owner=${owner}:${owner}`, 'chdir=1', arg];
        const end = await start(built[kind], args, ['/bin/sh', '-c', script], [directory]).end;
        closeSync(directory);
        const inside = `own\n${uid}\n${uid}\n${uid}\n`;
        expect(end.stdout.toString()).toBe(isRoot ? inside : '');
        expect(end.code).toBe(isRoot ? 0 : 125);
        expect(end.stderr.toString()).toMatch(isRoot ? /^cat: other: Permission denied\n$/ : /by root alone/);
        expect(readFileSync(join(path, 'own'), 'utf8')).toBe(isRoot ? 'own\nmore\n' : 'own\n');
        const made = isRoot ? ['own', 'new', 'dir'].map((name) => statSync(join(path, name)).uid) : [];
        expect(made).toEqual(isRoot ? [owner, owner, owner] : []);
      },
    );

    test.each([
      ['mode=run', 'keeps its own path'],
      ['mode=exec', 'has a path that the next stage can walk to'],
    ])('in %s %s, below a directory that is closed to the run', async (arg) => {
      const parent = join(folder, `${kind}-parent-${arg}`);
      const path = join(parent, 'workspace');
      mkdirSync(path, { recursive: true });
      writeFileSync(join(path, 'own'), 'own\n', { mode: 0o600 });
      if (isRoot) for (const each of [path, join(path, 'own')]) chownSync(each, owner, owner);
      chmodSync(parent, 0o700);
      const directory = openSync(path, 'r');
      const args = [`uid=${uid}`, `gid=${uid}`, 'workspace=4', `owner=${owner}:${owner}`, 'keep=4', arg];
      const argv = [
        '/bin/sh',
        '-c',
        'cat /proc/self/fd/4/own; p=$(readlink /proc/self/fd/4); cat "$p/own"; echo "$p"',
      ];
      const end = await start(built[kind], args, argv, [directory]).end;
      closeSync(directory);
      const [held, ...walked] = end.stdout.toString().trim().split('\n');
      expect(held).toBe(isRoot ? 'own' : '');
      const expected = arg === 'mode=run' ? [path] : ['own', expect.any(String)];
      expect(walked).toEqual(isRoot ? expected : []);
      expect(end.code).toBe(isRoot ? 0 : 125);
    });

    test.each(['stays', 'is removed and another directory has the name that the kernel gives it'])(
      'that %s is mounted only if it is the one that was opened',
      async (what) => {
        const isRemoved = what !== 'stays';
        const path = join(folder, `${kind}-again-${isRemoved ? 'removed' : 'stays'}`);
        mkdirSync(path, { mode: 0o700 });
        if (isRoot) chownSync(path, owner, owner);
        const directory = openSync(path, 'r');
        if (isRemoved) rmdirSync(path);
        if (isRemoved) mkdirSync(`${path} (deleted)`);
        const args = [`uid=${uid}`, `gid=${uid}`, 'workspace=4', `owner=${owner}:${owner}`, 'mode=run'];
        const end = await start(built[kind], args, ['/bin/echo', 'started'], [directory]).end;
        closeSync(directory);
        const isRun = isRoot && !isRemoved;
        expect(end.stdout.toString()).toBe(isRun ? 'started\n' : '');
        expect(end.code).toBe(isRun ? 0 : 125);
        const stale = 'workspace-path errno=116 ESTALE';
        expect(end.status.get('failed')).toBe(isRoot && isRemoved ? stale : undefined);
      },
    );

    test('is closed to the run without the map', async () => {
      const path = join(folder, `${kind}-unmapped`);
      mkdirSync(path, { mode: 0o700 });
      if (isRoot) chownSync(path, owner, owner);
      const end = await run([], `cd ${path} && echo in`);
      expect(end.stdout.toString()).toBe(isRoot ? '' : 'in\n');
    });
  });

  test('reports the facts that the command finds as well', async () => {
    const space = hasNamespaces ? ['ns=1'] : [];
    const script =
      'cat /proc/self/status; for n in user pid mnt net ipc uts cgroup; do readlink /proc/self/ns/$n; done; cat /proc/self/limits; wc -l < /proc/self/mountinfo; id -u; id -g';
    const started = start(
      built[kind],
      [...user, ...space, 'facts=1', 'nofile=55', 'fsize=1000000', 'seccomp=4'],
      ['/bin/sh', '-c', script],
      ['pipe'],
    );
    (started.child.stdio[4] as NodeJS.WritableStream).end(noMkdir);
    const end = await started.end;
    const text = end.stdout.toString();
    const fact = (name: string) => end.status.get(`fact.${name}`);
    for (const [name, key] of FACTS) {
      expect(text).toContain(`${key}:\t${fact(name)}\n`);
    }
    for (const name of ['user', 'pid', 'mnt', 'net', 'ipc', 'uts', 'cgroup']) {
      expect(text).toContain(`${name}:[${fact(`ns.${name}`)}]\n`);
    }
    expect(text).toMatch(/\n(\d+)\n(\d+)\n(\d+)\n$/);
    expect(text.trim().split('\n').slice(-3)).toEqual([fact('mounts'), fact('uid'), fact('gid')]);
    expect([
      fact('nnp'),
      fact('seccomp'),
      fact('rlimit.nofile'),
      fact('rlimit.fsize'),
      fact('rlimit.core'),
    ]).toEqual(['1', '2', '55', '1000000', '0']);
    expect([fact('capeff'), fact('capprm'), fact('capamb')]).toEqual(Array(3).fill('0'.repeat(16)));
    expect([fact('landlock'), fact('rlimit.as')]).toEqual(['0', 'unlimited']);
    // What an exec changes is not a fact of the command.
    expect([fact('dumpable'), fact('uid_map')]).toEqual([undefined, undefined]);
    expect(fact('interfaces')?.split(',')).toContain('lo');
    expect(fact('mounts_rw')?.split(',')).toContain('/proc');
    expect(end.lines.filter((line) => !LINE.test(line))).toEqual([]);
    expect(new Set(end.lines.map((line) => line.split('=')[0])).size).toBe(end.lines.length);
  });

  test('reports the version of Landlock that holds, and the groups that are left', async () => {
    const end = await run(['facts=1', 'rw=/'], 'true');
    expect(Number(end.status.get('fact.landlock'))).toBeGreaterThan(0);
    expect(isRoot ? end.status.get('fact.groups') : '').toBe('');
  });
});

const FACTS = [
  ['nnp', 'NoNewPrivs'],
  ['seccomp', 'Seccomp'],
  ['seccomp_filters', 'Seccomp_filters'],
  ['capinh', 'CapInh'],
  ['capprm', 'CapPrm'],
  ['capeff', 'CapEff'],
  ['capbnd', 'CapBnd'],
  ['capamb', 'CapAmb'],
] as const;
