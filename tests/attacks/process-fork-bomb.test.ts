import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, processesWith, runBare } from '../fixtures/commands/probe.ts';

/* A command that forks without end: it gets the processes of its limit, none more, and none outlives the call. */

const gateway = sharedGateway();
const probe = proberOf(gateway);
const FORKS = 200;

/** Forks until it may not, lets all of them wait for the same pipe, and says how many there were. */
const COUNT_FORKS = `
import os, json
r, w = os.pipe()
made, error = 0, None
for i in range(${FORKS}):
    try: pid = os.fork()
    except OSError as e: error = e.errno; break
    if pid == 0:
        os.close(w); os.read(r, 1); os._exit(0)
    made += 1
print(json.dumps({'made': made, 'error': error}), flush=True)
os.close(w)
for i in range(made): os.wait()
`;
const EAGAIN = 11;

test.each([1, 8, 64])(
  'a command with %i processes forks one less, and no limit of another run counts',
  async (processes) => {
    const limits = { processes };
    const ends = await Promise.all([probe(COUNT_FORKS, { limits }), probe(COUNT_FORKS, { limits })]);
    for (const end of ends) {
      expect(printedBy(end)).toEqual({ made: processes - 1, error: EAGAIN });
      expect(end.code).toBe('ok');
    }
  },
);

test('threads count as processes do', async () => {
  const program = `
import threading, json
e, made = threading.Event(), 0
try:
    for i in range(${FORKS}): threading.Thread(target=e.wait).start(); made += 1
except RuntimeError: pass
e.set()
print(json.dumps({'made': made}))
`;
  expect(printedBy(await probe(program, { limits: { processes: 16 } }))).toEqual({ made: 15 });
  expect(JSON.parse(runBare(program))).toEqual({ made: FORKS });
});

test('without the limit the same program forks as often as it likes', async () => {
  expect(JSON.parse(runBare(COUNT_FORKS))).toEqual({ made: FORKS, error: null });
  expect(printedBy(await probe(COUNT_FORKS, { limits: { processes: FORKS + 1 } }))).toMatchObject({
    made: FORKS,
  });
});

test('a bomb that doubles in new sessions is ended with its whole tree', async () => {
  const name = `bomb-${process.pid}-${Date.now()}.sh`;
  // Bounded by its own depth as well, should the limit not hold.
  const bomb = `echo lit; n=\${1:-0}; [ $n -gt 9 ] && exec sleep 60\nsetsid sh ${name} $((n+1)) & setsid sh ${name} $((n+1)) &\nwait; sleep 60\n`;
  writeFileSync(join(gateway.workspace, name), bomb);
  const limits = { processes: 40, wall_ms: 4_000, cpu_time_ms: 60_000 };
  const end = await gateway.run({ command: 'sh', args: [name], tier: 'b', limits });
  expect(end).toMatchObject({ code: 'tier/timed-out', output: { limit: 'wall' } });
  expect(end.output?.stdout).toContain('lit');
  expect(processesWith(name)).toEqual([]);
  expect(end.execution).toMatchObject({ tier: 'b', isolation: { nnp: '1' } });
});
