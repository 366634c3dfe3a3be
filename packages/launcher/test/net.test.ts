import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sample } from '../../../tests/volume/volume.ts';
import {
  buildBoth,
  endAll,
  gone,
  isRoot,
  kinds,
  LOOK_AGAIN_MS,
  living,
  makeFolder,
  removeFolder,
  shipped,
} from './launch.ts';

const folder = makeFolder();
const built = { shipped, sanitized: '', node: process.execPath };
const program = join(folder, 'net-gateway.mjs');
const mark = `86404.${process.pid}`;
const uid = 60_181;
const ordinary = 60_182;
const hasSix = existsSync('/proc/net/if_inet6');
const host: Server = createServer((socket) => socket.end('host\n'));

beforeAll(async () => {
  const { shipped: made, sanitized } = buildBoth(folder);
  // The ordinary user may not come to where the clone is, nor to where Node is.
  if (spawnSync(process.execPath, ['--version'], ordinaryUser.start).status !== 0) {
    built.node = join(folder, 'node');
    copyFileSync(process.execPath, built.node);
  }
  copyFileSync(made, join(folder, 'shipped-launcher'));
  copyFileSync(join(import.meta.dirname, 'net-gateway.mjs'), program);
  Object.assign(built, { shipped: join(folder, 'shipped-launcher'), sanitized });
  await new Promise<void>((done) => void host.listen(0, '127.0.0.1', done));
});
afterEach(() => void endAll(mark));
afterAll(() => {
  host.close();
  removeFolder(folder);
});

const hostPort = () => (host.address() as AddressInfo).port;

type Ran = { readonly out: string; readonly error: string };
type Replies = {
  readonly code: number;
  readonly listeners: readonly { readonly run: number; readonly index: number; readonly at: string }[];
  readonly outputs: Readonly<Record<string, Ran>>;
  readonly ends: Readonly<Record<string, string>>;
};
type Caller = { readonly name: string; readonly args: readonly string[]; readonly start: object };

const ordinaryUser: Caller = {
  name: 'an ordinary user',
  args: [],
  start: isRoot ? { uid: ordinary, gid: ordinary } : {},
};
/** Asked of another program, as in launch.ts. */
const canUnshare = spawnSync('unshare', ['-rn', 'true'], ordinaryUser.start).status === 0;
/** Who the gateway is: root gives its runs another user, all others their own. */
const callers: readonly Caller[] = [
  ...(isRoot ? [{ name: 'root', args: [`uid=${uid}`, `gid=${uid}`], start: {} }] : []),
  ...(canUnshare ? [ordinaryUser] : []),
];

type Gateway = { readonly end: Promise<Replies>; readonly kill: () => void };

/** Starts a gateway; what it says at its end is there when it has come to one by itself. */
function open(caller: Caller, request: object): Gateway {
  const child = spawn(built.node, [program, JSON.stringify({ mark, together: 1, ...request })], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
    ...caller.start,
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  const end = new Promise<Replies>((done) => {
    child.once('close', () => done(JSON.parse(text || '{}')));
  });
  return { end, kill: () => child.kill('SIGKILL') };
}

async function sleepers(count: number): Promise<readonly number[]> {
  for (;;) {
    const pids = living(`sleep\0${mark}`);
    if (pids.length >= count) return pids;
    await new Promise((wake) => setTimeout(wake, LOOK_AGAIN_MS));
  }
}

/** What bash reads from each place, or that it came to none. */
function reach(places: readonly string[]): string {
  const each = 'if exec 9<>/dev/tcp/$a; then cat <&9; exec 9>&-; else echo none; fi';
  return `for a in ${places.join(' ')}; do ${each}; done 2>/dev/null`;
}

const bash = (text: string) => ['--', '/bin/bash', 'bash', '-c', text];
const network = (...places: string[]) => ['net=1', 'handles=3', ...places.map((place) => `listen=${place}`)];
/** Binds a low port, which only who may do so in the whole network can. */
const bindLow = `perl -MSocket -e 'socket(my $s, PF_INET, SOCK_STREAM, 0); print bind($s, sockaddr_in(81, INADDR_ANY)) ? "bound" : "$!"'`;

const modes: readonly (readonly string[])[] = [['mode=exec'], ['mode=run'], ['ns=1']];
const cases = kinds().flatMap((kind) =>
  callers.flatMap((caller) => modes.map((mode) => [kind, mode[0] ?? '', caller.name, caller, mode] as const)),
);

describe.each(cases)('the %s launcher with %s, of %s,', (kind, _mode, _name, caller, mode) => {
  const runs = (...all: (readonly string[])[]) =>
    all.map((args, at) => ({ id: at + 1, args: [...caller.args, ...mode, ...args] }));
  const request = (more: object, ...all: (readonly string[])[]) =>
    open(caller, { launcher: built[kind], runs: runs(...all), ...more }).end;

  const places = ['127.0.0.1:3128', '127.0.1.1:80', ...(hasSix ? ['[::1]:443'] : [])];
  const many = Array.from({ length: 64 }, (_, at) => `127.0.0.${at + 1}:${at + 1}`);
  const alone = `tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; ls -l /proc/$$/fd | grep -c socket:; grep -hE '^Cap' /proc/$$/status | cut -f2 | sort -u; unshare -r ${bindLow}`;
  /** Runs that do not look at each other, all of one gateway. */
  const argsOf = () => ({
    reaches: [
      ...network(...places),
      ...bash(reach(['127.0.0.1/3128', '127.0.1.1/80', '::1/443', '127.0.0.1/80'])),
    ],
    apart: ['net=1', ...bash(reach([`127.0.0.1/${hostPort()}`]))],
    beside: ['keep=3', ...bash(reach([`127.0.0.1/${hostPort()}`]))],
    alone: [...network('127.0.0.1:80'), ...bash(alone)],
    parent: [...network('127.0.0.1:80'), ...bash('grep CapEff /proc/$PPID/status')],
    many: [...network(...many), ...bash(reach(['127.0.0.64/64', '127.0.0.1/1']))],
    taken: [...network('127.0.0.1:80', '127.0.0.1:80'), ...bash('echo started')],
  });
  const seen: { replies: Replies | null } = { replies: null };
  beforeAll(async () => {
    seen.replies = await request({}, ...Object.values(argsOf()));
  });
  /** What came of one of them. */
  const ran = (name: keyof ReturnType<typeof argsOf>) => {
    const id = Object.keys(argsOf()).indexOf(name) + 1;
    const { code, listeners = [], outputs, ends } = seen.replies ?? {};
    const handed = listeners.filter(({ run }) => run === id).map(({ index, at }) => [index, at]);
    return { id, code, handed, output: outputs?.[id], end: ends?.[id] };
  };

  test('lets the command reach the listeners of the gateway, low ports too', () => {
    const { id, code, handed, output, end } = ran('reaches');
    const six = hasSix ? `run ${id} listener 2\n` : 'none\n';
    expect(output?.out).toBe(`run ${id} listener 0\nrun ${id} listener 1\n${six}none\n`);
    const expected = ['127.0.0.1 3128', '127.0.1.1 80', '::1 443'].slice(0, places.length);
    expect(handed).toEqual(expected.map((at, index) => [index, at]));
    expect([code, end]).toEqual([0, 'ended exit=0']);
  });

  test('keeps the host out of reach, whose servers a command without a network of its own reaches', () => {
    expect(ran('apart').output).toEqual({ out: 'none\n', error: '' });
    expect(ran('beside').output?.out).toBe('host\n');
  });

  test('gives the gateway a server that nobody outside of the run comes to', async () => {
    // The same place, taken by another server on the host.
    const place = `127.0.0.1:${hostPort()}`;
    const text = `${reach([`127.0.0.1/${hostPort()}`])}; sleep ${mark}`;
    const end = request({}, [...network(place), ...bash(text)]);
    const pids = await sleepers(1);
    const answer = await new Promise<string>((done, fail) => {
      connect(hostPort(), '127.0.0.1').setEncoding('utf8').once('data', done).once('error', fail);
    });
    for (const pid of pids) process.kill(pid, 'SIGTERM');
    expect(answer).toBe('host\n');
    expect((await end).outputs[1]?.out).toBe('run 1 listener 0\n');
  });

  test('lets two runs have the same places, each for itself', async () => {
    const args = [
      ...network('127.0.0.1:3128', '127.0.0.1:80'),
      ...bash(reach(['127.0.0.1/3128', '127.0.0.1/80'])),
    ];
    // Each answer waits until both runs are there.
    const replies = await request({ together: 2 }, args, args);
    for (const run of [1, 2])
      expect(replies.outputs[run]?.out).toBe(`run ${run} listener 0\nrun ${run} listener 1\n`);
    expect(replies.listeners).toHaveLength(4);
  });

  test('leaves the command lo alone, no socket, no capability, and no say over the network', () => {
    const lines = ran('alone').output?.out.split('\n');
    expect(lines).toEqual(['lo', '0', '0000000000000000', 'Permission denied']);
    const control = spawnSync('unshare', ['-rn', 'sh', '-c', bindLow], { encoding: 'utf8', ...caller.start });
    expect(control.stdout).toBe('bound');
  });

  test('has itself no capability that it did not have before', () => {
    const expected =
      caller === ordinaryUser || mode[0] === 'ns=1' ? /\t0{16}\n$/ : /\t0*[1-9a-f][0-9a-f]*\n$/;
    expect(ran('parent').output?.out).toMatch(expected);
  });

  test('hands over 64 listeners in their order', () => {
    const { id, handed, output } = ran('many');
    expect(output?.out).toBe(`run ${id} listener 63\nrun ${id} listener 0\n`);
    expect(handed.map(([index]) => index)).toEqual(many.map((_, at) => at));
  });

  test('starts nothing when a place is taken', () => {
    const { output, end } = ran('taken');
    expect(end).toBe('ended exit=125');
    expect(output).toEqual({
      out: '',
      error: 'Cannot start the command: listen ended with EADDRINUSE\n',
    });
  });

  test('leaves nothing behind when the gateway is killed', async () => {
    const daemons = `(setsid setsid sleep ${mark} &) ; sleep ${mark}`;
    const args = [...network('127.0.0.1:3128'), ...bash(daemons)];
    const gateway = open(caller, { launcher: built[kind], runs: runs(args, args, args) });
    await sleepers(6);
    expect(living(`starter-${mark}`)).not.toEqual([]);
    gateway.kill();
    await gone(mark);
    // In the middle of starts too: Node needs most of the shorter waits for itself.
    for (const ms of sample([35, 50, 65, 80])) {
      const next = open(caller, { launcher: built[kind], runs: runs(args, args, args) });
      await new Promise((wake) => setTimeout(wake, ms));
      next.kill();
      await next.end;
      await gone(mark);
    }
  });
});

const boxed = (['shipped', 'sanitized'] as const).flatMap((kind) =>
  callers.map((caller) => [kind, caller.name, caller] as const),
);
test.each(boxed)(
  'the %s launcher, of %s, becomes a bubblewrap that shares its network',
  async (kind, _name, caller) => {
    const namespaces = [
      '--unshare-user',
      '--unshare-pid',
      '--unshare-ipc',
      '--die-with-parent',
      '--as-pid-1',
    ];
    const jail = [
      ...namespaces,
      '--ro-bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      built[kind],
      '--',
    ];
    const script = `${reach(['127.0.0.1/3128', '127.0.1.1/80', `127.0.0.1/${hostPort()}`])}; ls -l /proc/1/fd /proc/$$/fd 2>/dev/null | grep -c socket:; unshare -r ${bindLow}`;
    const args = ['mode=exec', ...network('127.0.0.1:3128', '127.0.1.1:80'), '--', '/usr/bin/bwrap', 'bwrap'];
    const argv = [...caller.args, ...args, ...jail, '/bin/bash', 'bash', '-c', script];
    const replies = await open(caller, { launcher: built[kind], runs: [{ id: 1, args: argv }] }).end;
    expect(replies.outputs[1]?.out).toBe('run 1 listener 0\nrun 1 listener 1\nnone\n0\nPermission denied');
  },
);

test('a launcher that is given no network starts nothing', async () => {
  const args = ['status=3', 'net=1', '--', '/bin/echo', 'echo', 'started'];
  const limit = 'echo 0 > /proc/sys/user/max_net_namespaces; exec "$0" "$@"';
  const [file, before] = canUnshare
    ? ['unshare', ['-r', 'sh', '-c', limit, built.shipped]]
    : [built.shipped, []];
  const end = spawnSync(file, [...before, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    ...ordinaryUser.start,
  });
  expect([end.status, end.stdout]).toEqual([125, '']);
  expect(end.output[3]).toMatch(/^launcher=1\nfailed=net errno=\d+ E[A-Z]+\n$/);
});
