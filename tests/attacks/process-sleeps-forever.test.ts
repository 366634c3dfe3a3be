import { beforeAll, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { proberOf, processesWith } from '../fixtures/commands/probe.ts';

/* A command that uses no processor time and never ends: only the wall clock holds it, and what it said comes back. */

const gateway = sharedGateway();
const probe = proberOf(gateway);
const IGNORE_ALL = `
import os, signal, sys, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
`;

const HANGS = {
  sleeps: 'time.sleep(600)',
  'stops itself': 'os.kill(os.getpid(), signal.SIGSTOP)',
  'stops its whole group': 'os.killpg(0, signal.SIGSTOP)',
  'waits for a child that sleeps': 'os.fork() or time.sleep(600); os.wait()',
  'waits for input that never comes': 'r, w = os.pipe(); os.read(r, 1)',
  'has closed all it was given': 'os.closerange(0, 1024); time.sleep(600)',
} as const;
/** Long enough for all of them to start, however busy the machine is. */
const WALL_MS = 3_000;
const ends = new Map<string, Awaited<ReturnType<typeof probe>> & { readonly tookMs: number }>();

/** All of them at once: none does anything but wait. */
beforeAll(async () => {
  const runs = Object.entries(HANGS).map(async ([name, hang]) => {
    const program = `${IGNORE_ALL}
print('so far', flush=True); print('and so on', file=sys.stderr, flush=True)
${hang}`;
    const beganMs = performance.now();
    const end = await probe(program, { limits: { wall_ms: WALL_MS } });
    ends.set(name, { ...end, tookMs: performance.now() - beganMs });
  });
  await Promise.all(runs);
});

test.each(Object.keys(HANGS))('a command that %s with all signals ignored ends at its wall limit', (name) => {
  const end = ends.get(name);
  expect(end).toMatchObject({
    code: 'tier/timed-out',
    output: { limit: 'wall', stdout: 'so far\n', stderr: 'and so on\n', exitCode: null, signal: 'SIGKILL' },
  });
  // It may have waited for its turn, which its time counts and its usage does not.
  expect(end?.tookMs).toBeGreaterThanOrEqual(WALL_MS - 1);
  expect(end?.usage.wallMs).toBeGreaterThan(0);
  expect(end?.execution).toMatchObject({ tier: 'b', isolation: { seccomp: '2' } });
});

test('commands that never end leave no process behind', () => {
  expect(ends.size).toBe(Object.keys(HANGS).length);
  expect(processesWith(gateway.workspace)).toEqual([]);
});

test('a command that sleeps for less than its limit ends well', async () => {
  const program = `${IGNORE_ALL}
time.sleep(1); print('done')`;
  const end = await probe(program, { limits: { wall_ms: 60_000 } });
  expect(end).toMatchObject({ code: 'ok', output: { stdout: 'done\n', limit: null } });
});
