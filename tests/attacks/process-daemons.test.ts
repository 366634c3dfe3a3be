import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { proberOf, processesWith, runBare } from '../fixtures/commands/probe.ts';
import { PATIENT } from '../fixtures/egress/inside.ts';

/* A command leaves daemons behind: other sessions, orphaned twice, with all signals ignored and the pipes held open. */

const gateway = sharedGateway();
const probe = proberOf(gateway);
let daemons = 0;

/** A program that leaves a daemon of this name on the command line; `after` is what the command itself does then. */
function daemonise(name: string, after: string): string {
  return `
import os, signal, sys, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        os.write(w, b'1')
        os.execv('/usr/bin/python3', ['python3', '-c', 'import time\\nwhile True: time.sleep(1)', '${name}'])
    os._exit(0)
os.wait()
os.read(r, 1)
print('left', flush=True)
${after}
`;
}

/** A daemon says that it is there before it becomes the program with the name. */
async function appearance(path: string, name: string): Promise<void> {
  while (!existsSync(path) || processesWith(name).length === 0) await sleep(20);
}

function nextName(): string {
  daemons += 1;
  return `daemon-${process.pid}-${daemons}-${Date.now()}`;
}

describe('a daemon in a session of its own', () => {
  test.each([
    ['ends well', '', 'ok'],
    ['fails', 'sys.exit(3)', 'tier/exited'],
    ['kills itself', 'os.kill(os.getpid(), 9)', 'tier/exited'],
    ['passes its time', 'time.sleep(600)', 'tier/timed-out'],
    ['floods its output', 'while True: os.write(1, b"x" * 65536)', 'tier/output-exceeded'],
  ])('is gone with a command that %s, and does not hold the call', async (_, after, code) => {
    const name = nextName();
    const limits = { wall_ms: 5_000, output_bytes: 100_000 };
    const end = await probe(daemonise(name, after), { limits, output_overflow: 'kill' });
    expect(end.code).toBe(code);
    expect(end.output?.stdout).toMatch(/^left\n/);
    expect(end.output).toMatchObject({ processesKilledAtEnd: expect.any(Number) });
    expect(processesWith(name)).toEqual([]);
  });

  test('is gone when the caller cancels', async () => {
    const name = nextName();
    const controller = new AbortController();
    const flag = join(gateway.workspace, `${name}.up`);
    const running = probe(daemonise(name, `open('${name}.up', 'w'); time.sleep(600)`), {}, controller.signal);
    await Promise.race([running, appearance(flag, name)]);
    expect(processesWith(name)).not.toEqual([]);
    controller.abort();
    expect(await running).toMatchObject({ code: 'tier/cancelled', output: { stdout: 'left\n' } });
    expect(processesWith(name)).toEqual([]);
  });

  test('outlives its parent where nothing guards it', async () => {
    const name = nextName();
    // Its pipe would hold spawnSync for ever.
    runBare(
      daemonise(name, '').replace(
        "os.write(w, b'1')",
        "os.write(w, b'1'); [os.dup2(os.open('/dev/null', 2), fd) for fd in (1, 2)]",
      ),
    );
    await expect.poll(() => processesWith(name), PATIENT).toHaveLength(1);
    const [left, ...more] = processesWith(name);
    expect(left).toBeGreaterThan(1);
    expect(more).toEqual([]);
    process.kill(left ?? 0, 'SIGKILL');
  });
});
