import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, processesWith, runBare, startVictim } from '../fixtures/commands/probe.ts';

/* A command sends signals to the gateway, to its launcher, to other runs and to all that live. */

const gateway = sharedGateway();
const probe = proberOf(gateway);

/** Signals these processes and says what the kernel answered. */
const SIGNAL = `
import json, os, signal, sys
answers = {}
for pid in json.load(sys.stdin):
    try: os.kill(pid, signal.SIGKILL); answers[pid] = 'sent'
    except OSError as e: answers[pid] = type(e).__name__
print(json.dumps(answers))
`;

test('a command cannot end a process of its own user outside, nor the gateway', async () => {
  const victim = await startVictim();
  const pids = [victim.pid, process.pid, process.ppid];
  const answers = printedBy(await probe(SIGNAL, { stdin: JSON.stringify(pids) }));
  for (const pid of pids) expect(answers[pid]).toMatch(/^(ProcessLookupError|PermissionError)$/);
  expect(() => process.kill(victim.pid, 0)).not.toThrow();
  // The same program without the guard ends it.
  expect(JSON.parse(runBare(SIGNAL, JSON.stringify([victim.pid])))).toEqual({ [victim.pid]: 'sent' });
});

test('a command that signals its parent, its group and everybody ends nobody but itself', async () => {
  const flag = join(gateway.workspace, 'sibling-up');
  const sibling = probe(`
import os, time
open('sibling-up', 'w')
while not os.path.exists('attacked'): time.sleep(0.02)
print('alive')`);
  await Promise.race([sibling, appearance(flag)]);
  const attack = `
import os, signal, time
for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP, signal.SIGCHLD, signal.SIGKILL]:
    for target in [os.getppid(), 1]:
        try: os.kill(target, number)
        except OSError: pass
for number in [signal.SIGCONT, signal.SIGKILL]:
    try: os.kill(-1, number)
    except OSError: pass
time.sleep(0.3)
print('still here', flush=True)
os.killpg(0, signal.SIGKILL)
`;
  expect(await probe(attack)).toMatchObject({
    code: 'tier/exited',
    output: { signal: 'SIGKILL', stdout: 'still here\n' },
  });
  expect(await probe("open('attacked', 'w')")).toMatchObject({ code: 'ok' });
  expect(await sibling).toMatchObject({ code: 'ok', output: { stdout: 'alive\n' } });
});

test('a command sees no process but its own and its launcher', async () => {
  const word = `seen-${process.pid}`;
  const list = `
import json, os
print(json.dumps({'pids': sorted(int(n) for n in os.listdir('/proc') if n.isdigit())}))`;
  const { pids } = printedBy(await probe(list, { env: { CI: word } })) as { pids: number[] };
  expect(pids).toHaveLength(2);
  expect(pids[0]).toBe(1);
  expect(processesWith(word)).toEqual([]);
  expect(JSON.parse(runBare(list)).pids).toContain(process.pid);
});

async function appearance(path: string): Promise<void> {
  while (!existsSync(path)) await sleep(20);
}
