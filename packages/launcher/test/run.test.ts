import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildBoth,
  hasNamespaces,
  identity,
  isRoot,
  kinds,
  makeFolder,
  REPORT,
  removeFolder,
  runScript,
  shipped,
  start,
} from './launch.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const user = identity(60_101);

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterAll(() => removeFolder(folder));

const modes: readonly (readonly [mode: string, args: readonly string[]])[] = [
  ['run', []],
  ['run', ['output=1000000']],
  ['exec', ['mode=exec']],
  ...(hasNamespaces ? [['run in namespaces', ['ns=1']] as const] : []),
];

describe.each(kinds())('the %s launcher', (kind) => {
  const run = (args: readonly string[], script: string) => runScript(built[kind], [...user, ...args], script);

  describe.each(modes)('in mode %s with %j', (_, args) => {
    test.each([0, 1, 7, 125, 126, 127, 255])('passes exit status %i through', async (code) => {
      const end = await run(args, `exit ${code}`);
      expect([end.code, end.signal]).toEqual([code, null]);
      expect(end.stderr.toString()).toBe('');
    });

    test('passes the command its arguments, its environment and an empty standard input', async () => {
      const argv = ['/bin/sh', '-c', 'printf "%s|" "$0" "$@" "$PATH"; cat', '', 'a b', '--', '$x\n'];
      const end = await start(built[kind], [...user, ...args], argv).end;
      expect(end.stdout.toString()).toBe('|a b|--|$x\n|/usr/bin:/bin|');
      expect(end.code).toBe(0);
    });

    test('says why a file cannot be executed', async () => {
      const absent = await start(built[kind], [...user, ...args], ['/nowhere/at-all']).end;
      expect([absent.code, absent.status.get('execerror')]).toEqual([127, '2 ENOENT']);
      const folderAsFile = await start(built[kind], [...user, ...args], ['/usr']).end;
      expect([folderAsFile.code, folderAsFile.status.get('execerror')]).toEqual([126, '13 EACCES']);
    });
  });

  test.each([
    ['KILL', 9],
    ['TERM', 15],
    ['SEGV', 11],
  ])('reports SIG%s as its signal', async (name, number) => {
    const end = await run([], `kill -${name} $$`);
    expect(end.status.get('signal')).toBe(String(number));
    expect([end.code, end.signal]).toEqual([128 + number, null]);
    const inPlace = await run(['mode=exec'], `kill -${name} $$`);
    expect([inPlace.code, inPlace.signal]).toEqual([null, `SIG${name}`]);
  });

  test('reports the usage of the whole tree and ends its status with done', async () => {
    const end = await run([], 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done & wait; exit 3');
    expect(end.lines[0]).toBe('launcher=1');
    expect(end.lines.at(-1)).toBe('done=1');
    expect(end.status.get('exit')).toBe('3');
    expect(end.status.get('left')).toBe('0');
    expect(Number(end.status.get('pid'))).toBeGreaterThan(1);
    expect(Number(end.status.get('utime_us')) + Number(end.status.get('stime_us'))).toBeGreaterThan(1000);
    expect(Number(end.status.get('maxrss_kb'))).toBeGreaterThan(100);
    expect(Number(end.status.get('wall_us'))).toBeGreaterThan(1000);
  });

  test('gives the command a session of its own, plain signals and the usual umask', async () => {
    const before = process.umask(0o077);
    const end = await run([], 'umask; cut -d" " -f1,6 /proc/$$/stat; exec grep Sig[BI] /proc/self/status');
    process.umask(before);
    const [mask, session = '', ...signals] = end.stdout.toString().trim().split('\n');
    expect(mask).toBe('0022');
    const [pid, sid] = session.split(' ');
    expect(sid).toBe(pid);
    expect(signals).toEqual(['SigBlk:\t0000000000000000', 'SigIgn:\t0000000000000000']);
  });

  test('leaves only the standard streams open, whatever it was given', async () => {
    const zero = openSync('/dev/zero', 'r');
    const more = Array.from({ length: 200 }, () => zero);
    const script = ['/bin/sh', '-c', 'ls /proc/$$/fd; :'];
    const end = await start(built[kind], user, script, more).end;
    const kept = await start(built[kind], [...user, 'keep=77', 'keep=200'], script, more).end;
    const bare = execFileSync(script[0] ?? '', script.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe', ...more],
    });
    closeSync(zero);
    expect(end.stdout.toString()).toBe('0\n1\n2\n');
    expect(kept.stdout.toString()).toBe('0\n1\n2\n200\n77\n');
    expect(bare.toString().split('\n').length).toBeGreaterThan(200);
  });

  test('does not show the command the arguments of the launcher', async () => {
    const mark = join(folder, 'a-path-of-the-host');
    const args = [`ro=${folder}`, 'ro=/', 'ro=/proc', `cwd=${folder}`];
    const end = await run(args, 'tr "\\0" " " < /proc/$PPID/cmdline; cat /proc/$PPID/environ');
    expect(end.stdout.toString().trim()).toBe(built[kind]);
    expect(end.stdout.toString()).not.toContain(mark);
    expect(end.stderr.toString()).toContain('Permission denied');
  });

  test('writes 0 into each control group it is given', async () => {
    const files = ['a', 'b'].map((name) => join(folder, `${kind}-${name}`));
    const open = files.map((file) => openSync(file, 'w'));
    const end = await start(built[kind], [...user, 'cgroup=4', 'cgroup=5'], ['/bin/true'], open).end;
    for (const each of open) closeSync(each);
    expect(end.code).toBe(0);
    expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(['0', '0']);
  });

  test('does not start when a control group cannot be joined', async () => {
    const full = openSync('/dev/full', 'w');
    const end = await start(built[kind], [...user, 'cgroup=4'], ['/bin/echo', 'started'], [full]).end;
    closeSync(full);
    expect([end.code, end.status.get('failed')]).toEqual([125, 'cgroup errno=28 ENOSPC']);
    expect(end.stdout.toString()).toBe('');
  });

  test('refuses to run a command as root, and runs it for ordinaryUser else', async () => {
    for (const mode of ['mode=run', 'mode=exec']) {
      const end = await runScript(built[kind], [mode], 'echo started');
      expect(end.code).toBe(isRoot ? 125 : 0);
      expect(end.stderr.toString().includes('never host uid 0')).toBe(isRoot);
      expect(end.stdout.toString()).toBe(isRoot ? '' : 'started\n');
    }
  });

  test('changes to another user when root asks it to, and refuses when another does', async () => {
    const end = await runScript(
      built[kind],
      ['uid=60102', 'gid=60103'],
      'id -u; id -g; id -G; setpriv --reuid 0 id -u',
    );
    expect(end.stderr.toString()).not.toMatch(REPORT);
    expect(end.stdout.toString()).toBe(isRoot ? '60102\n60103\n60103\n' : '');
    expect(end.code).toBe(isRoot ? 127 : 125);
    expect(end.stderr.toString()).toContain(isRoot ? 'setresuid failed' : 'can be changed by root alone');
  });

  test('goes to the directory it is told', async () => {
    const end = await run([`cwd=${folder}`], 'pwd');
    expect(end.stdout.toString()).toBe(`${folder}\n`);
    const nowhere = await run(['cwd=/nowhere'], 'pwd');
    expect([nowhere.code, nowhere.status.get('failed')]).toEqual([125, 'cwd errno=2 ENOENT']);
  });

  test('uses a directory that was judged, and nothing that took its place', async () => {
    const [judged, moved] = [join(folder, `${kind}-judged`), join(folder, `${kind}-moved`)];
    mkdirSync(judged);
    const { dev, ino } = statSync(judged, { bigint: true });
    const [cwd, rule] = [`cwd=${dev}:${ino}:${judged}`, `rw=${dev}:${ino}:${judged}`];
    expect((await run([cwd, 'ro=/', rule], 'pwd')).stdout.toString()).toBe(`${judged}\n`);
    renameSync(judged, moved);
    symlinkSync('/', judged);
    for (const [args, step] of [
      [[cwd], 'cwd'],
      [['ro=/', rule], 'landlock-path'],
    ] as const) {
      const end = await run(args, 'pwd');
      expect([end.code, end.status.get('failed')]).toEqual([125, `${step} errno=116 ESTALE`]);
      expect(end.stdout.toString()).toBe('');
    }
    // The control: by the path alone it is somewhere else.
    expect((await run([`cwd=${judged}`], 'pwd')).stdout.toString()).toBe('/\n');
  });
});

test('palisade-launcher makes the namespaces that it is asked for, or says that it cannot and starts nothing', async () => {
  const end = await runScript(shipped, [...user, 'ns=1'], 'echo started');
  expect([end.code, end.stdout.toString()]).toEqual(hasNamespaces ? [0, 'started\n'] : [125, '']);
  expect(end.status.has('failed')).toBe(!hasNamespaces);
});

test('palisade-launcher --version says the version of its manifest', () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
  expect(spawnSync(shipped, ['--version'], { encoding: 'utf8' }).stdout).toBe(
    `palisade-launcher ${version}\n`,
  );
});
