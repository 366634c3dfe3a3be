import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { userGateway } from '../fixtures/commands/as-user.ts';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, runBare } from '../fixtures/commands/probe.ts';

/* A command looks for descriptors that it was not given, and takes all it can have. */

const gateway = sharedGateway();
const probe = proberOf(gateway);
const inheriting = userGateway();
const LIST = `
import json, os
def listed():
    for fd in range(0, 4096):
        try: yield fd, os.readlink(f'/proc/self/fd/{fd}')
        except OSError: pass
print(json.dumps({'fds': [[fd, to.split(':')[0]] for fd, to in listed()]}))
`;

test('a command has its three streams and nothing else of what the gateway has open', async () => {
  const secret = join(gateway.stateDir, 'canary');
  writeFileSync(secret, 'a secret');
  const fd = openSync(secret, 'r');
  onTestFinished(() => closeSync(fd));
  const supplied = [
    [0, '/dev/null'],
    [1, 'pipe'],
    [2, 'pipe'],
  ];
  expect(printedBy(await probe(LIST))).toEqual({ fds: supplied });
  const { fds } = printedBy(await probe(LIST, { stdin: 'some text' })) as { fds: [number, string][] };
  expect(fds.map(([number]) => number)).toEqual([0, 1, 2]);
});

test('a command that takes every descriptor is stopped at its own limit and harms no other run', async () => {
  const take = `
import errno, json, os, sys
taken = []
try:
    while len(taken) < 500: taken.append(os.open('/dev/null', os.O_RDONLY))
except OSError as e: error = e.errno
else: error = None
os.close(taken.pop())
print(json.dumps({'highest': taken[-1], 'error': error}))
`;
  const limits = { open_files: 64 };
  const [greedy, other] = await Promise.all([probe(take, { limits }), probe(LIST, { limits })]);
  expect(printedBy(greedy)).toEqual({ highest: 62, error: 24 });
  expect(other.code).toBe('ok');
  expect(JSON.parse(runBare(take)).error).toBe(null);
});

test.each(['b', 'c'])('a command in tier %s starts with room for one file', async (tier) => {
  const input = { command: 'cat', args: ['/proc/self/limits'], tier };
  const end = await gateway.run({ ...input, limits: { open_files: 4 } });
  expect(end.output?.stdout).toMatch(/^Max open files +4 +4 /m);
  const two = await gateway.run({
    command: 'cmp',
    args: ['/proc/self/limits', '/proc/self/status'],
    tier,
    limits: { open_files: 4 },
  });
  expect(two.output?.stderr).toContain('Too many open files');
});

test('a descriptor that the gateway inherited itself, and does not know of, is not passed on', async () => {
  for (const shape of ['b', 'c', 'b-landlock'] as const) {
    writeFileSync(join(inheriting.workspace, 'list.py'), LIST, { mode: 0o644 });
    const tier = shape === 'c' ? 'c' : 'b';
    const [end] = await inheriting.run({
      shape,
      input: { command: '/usr/bin/python3', args: ['list.py'], tier },
    });
    if (end === undefined) throw new Error('Cannot judge: nothing ran');
    expect((printedBy(end) as { fds: [number, string][] }).fds.map(([fd]) => fd)).toEqual([0, 1, 2]);
  }
  // A Node that starts the same program itself does pass it on.
  const start =
    'process.stdout.write(require("child_process").execFileSync("/usr/bin/python3", ["-c", process.argv[1]]))';
  const words = ['-c', 'exec 200</etc/hosts; exec "$@"', 'bash', process.execPath, '-e', start, LIST];
  const { stdout } = spawnSync('/bin/bash', words, { encoding: 'utf8' });
  expect(JSON.parse(stdout).fds).toContainEqual([200, '/etc/hosts']);
});
