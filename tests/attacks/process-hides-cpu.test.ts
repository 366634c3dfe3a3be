import { expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { proberOf } from '../fixtures/commands/probe.ts';

/* A command uses processor time where a limit of one process does not see it: in children, in orphans, in the dead. */

const probe = proberOf(sharedGateway());
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
    limits: { cpu_time_ms: 700, wall_ms: 25_000, processes: 32 },
  });
  expect(end).toMatchObject({ code: 'tier/out-of-cpu', output: { limit: 'cpu' } });
  expect(end.usage.cpuMs).toBeGreaterThan(500);
});

test('a command that stays below its limit ends well, with its time counted', async () => {
  const end = await probe(`${BURN}\nos.waitpid(child(300), 0)`, { limits: { cpu_time_ms: 20_000 } });
  expect(end.code).toBe('ok');
  expect(end.usage.cpuMs).toBeGreaterThanOrEqual(290);
});

test('time that the kernel forgets, of children whose parent ignores their end, is counted by a group', async () => {
  const program = `${BURN}
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    p = child(60)
    try: os.waitpid(p, 0)
    except OSError: pass`;
  const end = await probe(program, { limits: { cpu_time_ms: 700, wall_ms: 8_000 } });
  // Without a group only the wall clock ends it, and the receipt says that there was none.
  const held = { code: 'tier/out-of-cpu', output: { limit: 'cpu' } };
  const unheld = { code: 'tier/timed-out', output: { limit: 'wall' } };
  expect(end).toMatchObject(end.execution?.isolation.cgroup_kind === 'none' ? unheld : held);
  expect(end.usage.cpuMs).toBeLessThan(end.execution?.isolation.cgroup_kind === 'none' ? 60_000 : 4_000);
});
