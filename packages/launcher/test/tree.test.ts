import { spawn } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  buildBoth,
  endAll,
  gone,
  hasNamespaces,
  heard,
  identity,
  isRoot,
  kinds,
  living,
  makeFolder,
  removeFolder,
  runScript,
  type Started,
  shipped,
  start,
} from './launch.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '' };
const user = identity(60_121);
/** The argument of the daemons' sleep: a number that no other process has. */
const mark = `86400.${process.pid}`;

beforeAll(() => void Object.assign(built, buildBoth(folder)));
afterEach(() => void endAll(mark));
afterAll(() => removeFolder(folder));

/** Leaves its session twice, gives its parent up, keeps none of its streams and is deaf to polite signals. */
const daemon = `(setsid sh -c 'trap "" HUP TERM INT; setsid sleep ${mark} & setsid sleep ${mark} &' >/dev/null 2>&1 </dev/null &)`;
const daemons = `${daemon}; ${daemon}; while [ "$(ps -eo args | grep -c '^sleep ${mark}')" -lt 4 ]; do sleep 0.05; done; echo ready`;

const places: readonly (readonly [place: string, args: readonly string[]])[] = [
  ['without namespaces', []],
  ...(hasNamespaces ? [['in namespaces', ['ns=1']] as const] : []),
];

test('daemons outlive a command that runs without the launcher', async () => {
  const child = spawn('/bin/sh', ['-c', daemons], { stdio: 'ignore' });
  await new Promise((done) => child.once('close', done));
  expect(endAll(mark)).toBe(4);
});

describe.each(kinds())('the %s launcher', (kind) => {
  describe.each(places)('%s', (_, args) => {
    const begin = async (more: readonly string[], script: string) => {
      const pipe = more.includes('control=4') ? (['pipe'] as const) : [];
      const argv = ['/bin/sh', '-c', script];
      const started = start(built[kind], [...user, ...args, ...more], argv, pipe);
      await heard(started, 'ready');
      return started;
    };

    test('ends the daemons of a command that has ended', async () => {
      const end = await runScript(built[kind], [...user, ...args], `${daemons}; exit 5`);
      expect(living(mark)).toEqual([]);
      expect([end.code, end.status.get('left')]).toEqual([5, '4']);
    });

    test('ends the daemons when the time is over', async () => {
      const { end } = await begin(['wallms=1500'], `${daemons}; sleep ${mark}`);
      expect((await end).status.get('limit')).toBe('wall');
      expect(living(mark)).toEqual([]);
    });

    const orders: readonly (readonly [order: string, give: (started: Started) => unknown])[] = [
      ['its control is closed', ({ child }) => child.stdio[4]?.destroy()],
      ['a byte comes on its control', ({ child }) => (child.stdio[4] as NodeJS.WritableStream).write('x')],
      ['it gets SIGTERM', ({ child }) => child.kill('SIGTERM')],
      ['it gets SIGHUP', ({ child }) => child.kill('SIGHUP')],
    ];
    test.each(orders)('ends everything when %s', async (_order, give) => {
      const started = await begin(['control=4'], `${daemons}; sleep ${mark}`);
      expect(living(`sleep\0${mark}`).length).toBeGreaterThanOrEqual(4);
      give(started);
      const end = await started.end;
      expect(living(mark)).toEqual([]);
      expect([end.status.get('cancelled'), end.code]).toEqual(['1', 137]);
    });

    test('ends everything when the process that started it is killed', async () => {
      // The one between the launcher and the test: whatever kills it does not kill the launcher.
      const launch = ['"$0"', ...user, ...args, '--', '/bin/sh', 'sh', '-c', '"$1"'].join(' ');
      const script = `${launch} & echo $!; wait`;
      const between = spawn('/bin/sh', ['-c', script, built[kind], `${daemons}; sleep ${mark}`], {
        stdio: ['ignore', 'pipe', 'ignore'],
        env: { PATH: '/usr/bin:/bin', ASAN_OPTIONS: 'detect_leaks=0' },
      });
      await new Promise<void>((done) => {
        between.stdout.on('data', (chunk) => String(chunk).includes('ready') && done());
      });
      expect(living(`sleep\0${mark}`).length).toBeGreaterThanOrEqual(4);
      between.kill('SIGKILL');
      await gone(mark);
    });

    test('reaps what the command leaves to it, however many', async () => {
      const many = 'i=0; while [ $i -lt 300 ]; do (true &); i=$((i+1)); done';
      const count = 'ps -eo stat,args | grep -c "^Z.*true" || true';
      const end = await runScript(built[kind], [...user, ...args], `${many}; sleep 0.2; ${count}`);
      expect(end.stdout.toString()).toBe('0\n');
    });

    test('ends a chain that forks and exits without end', async () => {
      const chain = `use POSIX; for (;;) { my $p = fork; next unless defined $p; POSIX::_exit(0) if $p; POSIX::setsid() }`;
      const started = start(
        built[kind],
        [...user, ...args, 'wallms=500'],
        ['/usr/bin/perl', '-e', chain, mark],
      );
      expect((await started.end).code).toBe(0);
      expect(living(mark)).toEqual([]);
    });

    test('ends a chain that forks and stays, deeper than one look goes', async () => {
      const chain = '$| = 1; for (1 .. 300) { sleep 86400 if fork } print "ready"; sleep 86400';
      const argv = ['/usr/bin/perl', '-e', chain, mark];
      const started = start(built[kind], [...user, ...args, 'control=4'], argv, ['pipe']);
      await heard(started, 'ready');
      started.child.stdio[4]?.destroy();
      const end = await started.end;
      expect(living(mark)).toEqual([]);
      expect(end.status.get('left')).toBe('300');
    });
  });

  test('in namespaces takes everything with it when it is killed itself, and elsewhere cannot', async () => {
    const script = ['/bin/sh', '-c', `${daemons}; sleep ${mark}`];
    expect(await killed(start(built[kind], user, script))).toBe('SIGKILL');
    expect(endAll(mark)).toBeGreaterThanOrEqual(4);
    const inside = start(built[kind], [...user, 'ns=1'], script);
    if (hasNamespaces) expect(await killed(inside)).toBe('SIGKILL');
    else expect((await inside.end).code).toBe(125);
    await gone(mark);
  });

  test('in namespaces, shows the command its own processes alone and lets it signal no other', async () => {
    const script = `echo $$; set -- /proc/[0-9]*; echo $#; kill -0 ${process.pid} || echo none; kill -9 1; kill -TERM 1; kill -HUP 1; sleep 0.1; echo alive`;
    const end = await runScript(built[kind], [...user, 'ns=1'], script);
    const shown = ['2', '2', 'none', 'alive', ''].join('\n');
    expect(end.stdout.toString()).toBe(hasNamespaces ? shown : '');
    expect([end.code, end.status.get('cancelled')]).toEqual([hasNamespaces ? 0 : 125, undefined]);
    // The pid that is reported is the one outside.
    expect(Number(end.status.get('pid') ?? 3)).toBeGreaterThan(2);
  });

  test('runs as another user than the command when it is root, so that the command cannot signal it', async () => {
    const end = await runScript(built[kind], user, 'kill -KILL $PPID; exit 6');
    expect(isRoot ? end.code : end.signal).toBe(isRoot ? 6 : 'SIGKILL');
  });
});

/** Kills the launcher, and gives its end without that of its streams: whoever lives on may hold them. */
async function killed(started: Started): Promise<string | null> {
  await heard(started, 'ready');
  const exit = new Promise<string | null>((done) => started.child.once('exit', (_, signal) => done(signal)));
  started.child.kill('SIGKILL');
  return exit;
}
