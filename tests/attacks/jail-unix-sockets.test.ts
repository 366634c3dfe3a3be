import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandEnd, sharedGateway } from '../fixtures/commands/index.ts';
import { type Answers, tryInside, tryOutside } from '../fixtures/jail/index.ts';
import { volume } from '../volume/volume.ts';

const PROGRAM = 'reaches-for-sockets.py';

/** Listens on the host in every way, and prints the name of each socket that got data. Others can use its files. */
const SERVICE = `
import os, select, socket, sys, time
folder, abstract = sys.argv[1:]
os.chdir(folder)
os.umask(0)
names = {}
def listen(name, address, kind=socket.SOCK_STREAM):
    end = socket.socket(socket.AF_UNIX, kind)
    end.bind(address)
    if kind != socket.SOCK_DGRAM: end.listen(64)
    names[end] = name
listen('host', 'host.sock')
listen('packets', 'packets.sock', socket.SOCK_SEQPACKET)
listen('datagram', 'datagram.sock', socket.SOCK_DGRAM)
listen('abstract', '\\0' + abstract)
print('ready', flush=True)
while True:
    if os.path.exists('ready') and 'late' not in names.values(): listen('late', 'late.sock')
    for end in select.select(list(names), [], [], 0.02)[0]:
        got = end
        if end.type != socket.SOCK_DGRAM:
            got, _ = end.accept()
            got.settimeout(5)
        try: said = got.recv(16)
        except OSError: said = b''
        if said: print(names[end], flush=True)
`;

describe('a command that reaches for Unix sockets of the host', () => {
  const jail = sharedGateway();
  const abstract = `palisade-canary-${randomUUID()}`;
  const reached: string[] = [];
  let service: ChildProcess;
  let end: CommandEnd;
  let inside: Answers = {};
  let outside: Answers = {};
  let reachedFromInside: readonly string[] = [];

  beforeAll(async () => {
    service = spawn('/usr/bin/python3', ['-c', SERVICE, jail.workspace, abstract], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    service.stdout?.on('data', (chunk) => reached.push(...String(chunk).split('\n').filter(Boolean)));
    await once(service.stdout as Readable, 'data');
    const wish = { abstract: `@${abstract}`, races: volume(200, 20) };
    ({ end, answers: inside } = await tryInside(jail, PROGRAM, wish, { limits: { wall_ms: 60_000 } }));
    await sleep(100);
    reachedFromInside = [...reached];
    for (const name of ['symbolic', 'hard']) await jail.run({ command: 'rm', args: ['-f', name], tier: 'c' });
    outside = tryOutside(PROGRAM, { ...wish, races: 0 }, jail.workspace);
    // The control: all of it is heard, and the service lives.
    while (new Set(reached).size < 5) await sleep(20);
  });
  afterAll(() => void service.kill());

  test('reaches none by any name', () => {
    expect(end, `${end.message} ${end.output?.stderr}`).toMatchObject({
      code: 'ok',
      execution: { tier: 'c' },
    });
    expect(reachedFromInside).toEqual(['ready']);
    const names = Object.keys(outside);
    expect(Object.values(outside)).toEqual(names.map(() => 'reached'));
    const refusals = { 'by a datagram': 'EPERM', 'by a name without a path': 'ECONNREFUSED' };
    const expected = { ...Object.fromEntries(names.map((name) => [name, 'EACCES'])), ...refusals };
    expect(inside).toMatchObject({ ...expected, 'by the root of the first process': 'EACCES' });
  });

  test('reaches none that begins to listen while it runs', () => {
    expect(existsSync(join(jail.workspace, 'late.sock'))).toBe(true);
    expect(inside['once it is there']).toBe('EACCES');
  });

  test.each(['swapped_name', 'swapped_address', 'swapped_descriptor'])(
    'reaches none by a %s, and its own in between',
    (name) => {
      expect(inside[name]).toMatch(/'reached': \d/);
      expect(inside[name]).toMatch(/'EACCES': \d/);
    },
  );

  test('reaches its own, and cannot become the one who decides', () => {
    expect(inside).toMatchObject({ ours: 'reached', 'a supervisor of its own': 'EBUSY' });
  });
});

describe('a command whose connections do not end', () => {
  const jail = sharedGateway();
  const python = (script: string, limits: object) =>
    jail.run({ command: 'python3', args: ['-'], stdin: script, tier: 'c', limits });

  /** A socket whose backlog is full, in the workspace and in memory, and a hundred that wait for it. */
  const FULL = `
import os, signal, socket, sys, time
def full(path):
    if os.path.exists(path): os.unlink(path)
    end = socket.socket(socket.AF_UNIX); end.bind(path); end.listen(0)
    filled = socket.socket(socket.AF_UNIX); filled.setblocking(False)
    try: filled.connect(path)
    except BlockingIOError: pass
    return end, filled
kept = [full('full.sock'), full('/tmp/full.sock')]
def child(path):
    process = os.fork()
    if process == 0:
        while True:
            try: socket.socket(socket.AF_UNIX).connect(path)
            except OSError: pass
    return process
children = [child(path) for path in ['full.sock', '/tmp/full.sock'] * 50]
time.sleep(0.3)
`;

  test('is ended by its clock', async () => {
    const end = await python(`${FULL}\nprint('begun', flush=True)\ntime.sleep(600)`, { wall_ms: 2_500 });
    expect(end, end.message).toMatchObject({
      code: 'tier/timed-out',
      output: { stdout: 'begun\n', limit: 'wall' },
    });
  });

  test('does not keep others from theirs, when callers are stopped or killed meanwhile', async () => {
    const end = await python(
      `${FULL}
for index, process in enumerate(children): os.kill(process, [signal.SIGSTOP, signal.SIGKILL][index % 2])
end = socket.socket(socket.AF_UNIX); end.bind('other.sock'); end.listen()
for _ in range(50):
    with socket.socket(socket.AF_UNIX) as one: one.connect('other.sock')
served = socket.create_server(('127.0.0.1', 0))
socket.create_connection(served.getsockname())
print('fine')`,
      { wall_ms: 30_000 },
    );
    expect(end, `${end.message} ${end.output?.stderr}`).toMatchObject({
      code: 'ok',
      output: { stdout: 'fine\n' },
    });
  });
});
