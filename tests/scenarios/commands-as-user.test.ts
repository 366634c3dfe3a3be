import { existsSync, lstatSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { GATEWAY_SECRET, type Job, USER_UID, userGateway } from '../fixtures/commands/as-user.ts';
import { printedBy, processesWith } from '../fixtures/commands/probe.ts';

/* The gateway is an ordinary user, as on a developer's machine: its commands have its own user id, and no group. */

const { workspace, run, start } = userGateway();
const SHAPES = ['b', 'c', 'b-landlock'] as const;
const NAMESPACES = ['b', 'c'] as const;
const MIB = 1024 * 1024;

function python(shape: Job['shape'], name: string, program: string, more: object = {}): Job {
  writeFileSync(join(workspace, `${name}.py`), program, { mode: 0o644 });
  return {
    shape,
    input: {
      command: '/usr/bin/python3',
      args: ['-B', `${name}.py`],
      tier: shape === 'c' ? 'c' : 'b',
      ...more,
    },
  };
}

describe.each(SHAPES)('shape %s', (shape) => {
  test('runs a command in the workspace, whose files are the user’s', async () => {
    const [end] = await run(python(shape, 'writes', `open('made-${shape}', 'w').write('x')\nprint('done')`));
    expect(end).toMatchObject({ code: 'ok', output: { stdout: 'done\n', exitCode: 0 } });
    expect(end?.output?.changes).toContainEqual({ path: `made-${shape}`, change: 'added', kind: 'file' });
    expect(lstatSync(join(workspace, `made-${shape}`)).uid).toBe(USER_UID);
    const { isolation, tier } = end?.execution ?? {};
    expect(tier).toBe(shape === 'c' ? 'c' : 'b');
    expect(isolation).toMatchObject({
      nnp: '1',
      seccomp: '2',
      capeff: '0000000000000000',
      cgroup_kind: 'none',
      'rlimit.core': '0',
    });
  });

  test('holds its limits, and gives back what was said until then', async () => {
    const limits = (more: object) => ({ limits: { wall_ms: 20_000, ...more } });
    const burn = 'import os\nprint("on", flush=True)\nfor i in range(3): os.fork()\nwhile True: pass';
    const [time, cpu, output, memory, file, forks] = await run(
      python(
        shape,
        'sleeps',
        'import time\nprint("on", flush=True)\ntime.sleep(600)',
        limits({ wall_ms: 1_500 }),
      ),
      python(shape, 'burns', burn, limits({ cpu_time_ms: 500 })),
      python(shape, 'floods', 'while True: print("on")', {
        ...limits({ output_bytes: 3_000 }),
        output_overflow: 'kill',
      }),
      python(
        shape,
        'takes',
        'print("on", flush=True)\nb = bytearray(200 << 20)',
        limits({ memory_bytes: 64 * MIB }),
      ),
      python(
        shape,
        'grows',
        'print("on", flush=True)\nopen("big", "wb").write(b"x" * (2 << 20))',
        limits({ file_size_bytes: MIB }),
      ),
      python(
        shape,
        'forks',
        'import os, time\nprint("on", flush=True)\nfor i in range(100):\n  if os.fork() == 0: time.sleep(60)',
        limits({ processes: 20 }),
      ),
    );
    expect(time).toMatchObject({ code: 'tier/timed-out', output: { limit: 'wall', stdout: 'on\n' } });
    expect(cpu).toMatchObject({ code: 'tier/out-of-cpu', output: { limit: 'cpu' } });
    expect(output).toMatchObject({
      code: 'tier/output-exceeded',
      output: { limit: 'output', truncated: true },
    });
    expect(output?.output?.stdout).toHaveLength(3_000);
    expect(memory).toMatchObject({ code: 'tier/exited', output: { stdout: 'on\n' } });
    expect(memory?.output?.stderr).toContain('MemoryError');
    expect(file?.output?.stderr).toContain('File too large');
    expect(lstatSync(join(workspace, 'big')).size).toBeLessThanOrEqual(MIB);
    expect(forks?.output?.stderr).toContain('Resource temporarily unavailable');
  });

  test('ends the whole tree, daemons as well', async () => {
    const word = `daemon-of-a-user-${shape}-${process.pid}`;
    const daemon = `
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: os.execv('/usr/bin/python3', ['python3', '-c', 'import time; time.sleep(600)', '${word}'])
    os._exit(0)
os.wait(); print('left')`;
    const [end] = await run(python(shape, 'leaves', daemon));
    expect(end).toMatchObject({ code: 'ok', output: { stdout: 'left\n' } });
    expect(processesWith(word)).toEqual([]);
  });

  test('gives the command nothing of what the gateway has: variables, descriptors, memory, life', async () => {
    const spy = `
import json, os, signal
found = {'fds': [fd for fd in range(256) if os.path.exists(f'/proc/self/fd/{fd}')], 'environ': [], 'killed': []}
for name in os.listdir('/proc'):
    if not name.isdigit() or int(name) == os.getpid(): continue
    try:
        if b'${GATEWAY_SECRET}' in open(f'/proc/{name}/environ', 'rb').read(): found['environ'].append(name)
    except OSError: pass
    if int(name) <= 1: continue
    try: os.kill(int(name), 0); found['killed'].append(name)
    except OSError: pass
found['own'] = '${GATEWAY_SECRET}' in json.dumps(dict(os.environ))
print(json.dumps(found))`;
    const [end] = await run(python(shape, 'spies', spy));
    if (end === undefined) throw new Error('Cannot judge: nothing ran');
    expect(printedBy(end)).toEqual({ fds: [0, 1, 2], environ: [], killed: [], own: false });
  });

  test('ends with its gateway, however that dies', async () => {
    const word = `orphan-of-a-user-${shape}-${process.pid}`;
    const flag = join(workspace, `up-${shape}`);
    const program = `
import os, time
open('up-${shape}', 'w').close()
os.execv('/usr/bin/python3', ['python3', '-c', 'import time; time.sleep(600)', '${word}'])`;
    const gateway = start(python(shape, 'outlives', program, { limits: { wall_ms: 300_000 } }));
    while (!existsSync(flag) && gateway.exitCode === null) await sleep(20);
    while (processesWith(word).length === 0 && gateway.exitCode === null) await sleep(20);
    expect(processesWith(word)).not.toEqual([]);
    gateway.kill('SIGKILL');
    // The kernel tells the launcher; there is nobody left who could be asked when it is done.
    for (let tries = 0; tries < 500 && processesWith(word).length > 0; tries += 1) await sleep(20);
    expect(processesWith(word)).toEqual([]);
  });
});

test.each(NAMESPACES)('shape %s has namespaces of its own', async (shape) => {
  const [end] = await run(python(shape, 'nothing', ''));
  for (const name of ['user', 'pid', 'mnt', 'ipc']) {
    expect(readOwn(name)).not.toBe(String(end?.execution?.isolation[`ns.${name}`]));
  }
});

test('the jail shows neither the home of others nor the gateway, and has no network', async () => {
  const look = `
import json, os
def names(path):
    try: return sorted(os.listdir(path))
    except OSError as e: return type(e).__name__
print(json.dumps({'work': [n for n in names('.') if n == 'kept'], 'root': names('/root'), 'beside': names('..')}))`;
  writeFileSync(join(workspace, 'kept'), '');
  const [jailed, plain] = await run(python('c', 'looks', look), python('b', 'looks', look));
  if (jailed === undefined || plain === undefined) throw new Error('Cannot judge: nothing ran');
  expect(printedBy(jailed)).toEqual({
    work: ['kept'],
    root: expect.stringContaining('Error'),
    beside: ['work'],
  });
  expect(jailed.execution?.isolation.interfaces).toBe('lo');
  // Tier B limits and does not hide, and says so.
  expect(printedBy(plain).beside).toEqual(['place', 'state', 'work']);
});

function readOwn(name: string): string {
  const [, number = ''] = /\[(\d+)\]/.exec(readlinkSync(`/proc/self/ns/${name}`)) ?? [];
  return number;
}
