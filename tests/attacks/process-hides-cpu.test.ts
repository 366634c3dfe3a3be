import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { userGateway } from '../fixtures/commands/as-user.ts';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { proberOf, runBare } from '../fixtures/commands/probe.ts';

/* A command uses processor time where a limit of one process does not see it: in children, in orphans, in the dead. */

const probe = proberOf(sharedGateway());
const user = userGateway();
/** Every test burns this much. */
const CPU_MS = 350;
const BURN = `
import os, signal, time
def burn(ms):
    end = time.process_time() + ms / 1000
    while time.process_time() < end: pass
def child(ms):
    pid = os.fork()
    if pid == 0: burn(ms); os._exit(0)
    return pid
`;

test.each([
  ['in itself', 'burn(60000)'],
  ['in children one after the other', 'while True: os.waitpid(child(50), 0)'],
  ['in many children at once', '[child(60000) for i in range(8)]; os.wait()'],
  [
    'in orphans',
    'while True:\n    p = os.fork()\n    if p == 0: child(200); os._exit(0)\n    os.waitpid(p, 0); time.sleep(0.2)',
  ],
])('a command that burns %s ends at the limit of its tree', async (_, how) => {
  const end = await probe(`${BURN}\n${how}`, {
    limits: { cpu_time_ms: CPU_MS, wall_ms: 25_000, processes: 32 },
  });
  expect(end).toMatchObject({ code: 'tier/out-of-cpu', output: { limit: 'cpu' } });
  expect(end.usage.cpuMs).toBeGreaterThan(CPU_MS / 2);
});

test('a command that stays below its limit ends well, with its time counted', async () => {
  const end = await probe(`${BURN}\nos.waitpid(child(300), 0)`, { limits: { cpu_time_ms: 20_000 } });
  expect(end.code).toBe('ok');
  expect(end.usage.cpuMs).toBeGreaterThanOrEqual(290);
});

/** Children that no one waits for: the kernel forgets their time, unless a control group has counted it. */
const UNWAITED = {
  'ignores SIGCHLD': 'signal.signal(signal.SIGCHLD, signal.SIG_IGN)',
  'sets SA_NOCLDWAIT': `
import ctypes
class Action(ctypes.Structure):
    _fields_ = [('handler', ctypes.c_void_p), ('mask', ctypes.c_ulong * 16), ('flags', ctypes.c_int), ('restorer', ctypes.c_void_p)]
assert ctypes.CDLL(None).sigaction(signal.SIGCHLD, ctypes.byref(Action(flags=2)), None) == 0`,
};

function unwaited(how: keyof typeof UNWAITED, forever = true): string {
  return `${BURN}
${UNWAITED[how]}
for i in range(${forever ? 1_000_000 : 4}):
    p = child(60)
    try: os.waitpid(p, 0)
    except OSError: pass
print(os.times().children_user + os.times().children_system)`;
}
const HOWS = Object.keys(UNWAITED) as (keyof typeof UNWAITED)[];
const HIDING = { limits: { cpu_time_ms: CPU_MS, wall_ms: 20_000 } };

test.each(HOWS)('the kernel forgets the time of children whose parent %s', (how) => {
  expect(Number(runBare(unwaited(how, false)))).toBe(0);
});

test.each(HOWS)('a command that %s ends at its limit, by its group or by samples', async (how) => {
  const end = await probe(unwaited(how), HIDING);
  expect(end, end.message).toMatchObject({ code: 'tier/out-of-cpu', output: { limit: 'cpu' } });
  const hasGroup = end.execution?.isolation.cgroup_kind !== 'none';
  expect(end.execution?.isolation.limit_cpu_time).toMatch(hasGroup ? /^control group$/ : /^sampled/);
  expect(end.usage.cpuMs).toBeGreaterThan(CPU_MS / 2);
});

describe.each(['b', 'c', 'b-landlock'] as const)('without a group, in shape %s', (shape) => {
  const job = (name: string, program: string, more: object = {}) => {
    writeFileSync(join(user.workspace, `${name}.py`), program, { mode: 0o644 });
    const tier = shape === 'c' ? 'c' : 'b';
    return { shape, input: { command: '/usr/bin/python3', args: [`${name}.py`], tier, ...more } };
  };

  test.each(HOWS)(
    'a command that %s ends at its limit, and its receipt says what the number is',
    async (how) => {
      const [end] = await user.run(job('hides', unwaited(how), HIDING));
      expect(end, end?.message).toMatchObject({
        ...{ code: 'tier/out-of-cpu', output: { limit: 'cpu' } },
        execution: { isolation: { cgroup_kind: 'none', limit_cpu_time: expect.stringMatching(/^sampled/) } },
      });
      expect(end?.usage.cpuMs).toBeGreaterThan(CPU_MS / 2);
    },
  );

  test('nothing is counted twice of a tree that waits, also through processes that are gone', async () => {
    // Each child has one of its own, and both vanish between two samples.
    const nested = `${BURN}
for i in range(12):
    p = os.fork()
    if p == 0: os.waitpid(child(30), 0); burn(15); os._exit(0)
    os.waitpid(p, 0)
used = os.times()
print(round(1000 * sum(used[:4])))`;
    const [end] = await user.run(job('waits', nested, { limits: { cpu_time_ms: 60_000 } }));
    expect(end, end?.message).toMatchObject({ code: 'ok' });
    const own = Number(end?.output?.stdout);
    expect(own).toBeGreaterThan(500);
    expect(end?.usage.cpuMs).toBeGreaterThanOrEqual(own);
    expect(end?.usage.cpuMs).toBeLessThan(own * 1.5);
  });
});
