import { expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, runBare, startVictim } from '../fixtures/commands/probe.ts';

/* A command raises its own limits, those of a sibling and those of the gateway. */

const probe = proberOf(sharedGateway());
const RAISE = `
import json, os, resource as r, sys
names = ['CPU', 'DATA', 'FSIZE', 'NOFILE', 'NPROC', 'CORE', 'STACK']
raised = {}
for name in names:
    which = getattr(r, 'RLIMIT_' + name)
    soft, hard = r.getrlimit(which)
    tries = []
    for want in [(hard, r.RLIM_INFINITY), (r.RLIM_INFINITY, r.RLIM_INFINITY), (hard + 1, hard + 1)] if hard != -1 else []:
        try: r.setrlimit(which, want); tries.append(True)
        except (OSError, ValueError): tries.append(False)
    raised[name] = {'even': soft == hard, 'limited': hard != -1, 'raised': any(tries)}
others = {}
for pid in json.load(sys.stdin):
    try: r.prlimit(pid, r.RLIMIT_CORE, (0, 0)); others[pid] = 'changed'
    except OSError as e: others[pid] = type(e).__name__
print(json.dumps({'raised': raised, 'others': others}))
`;

test('every limit of a command is hard, and nobody else’s is in its reach', async () => {
  const victim = await startVictim();
  const pids = [victim.pid, process.pid, process.ppid];
  const end = await probe(RAISE, { stdin: JSON.stringify(pids) });
  const { raised, others } = printedBy(end) as Record<string, Record<string, unknown>>;
  for (const name of Object.keys(raised ?? {})) {
    expect([name, raised?.[name]]).toEqual([name, { even: true, limited: true, raised: false }]);
  }
  for (const pid of pids) expect(others?.[pid]).toMatch(/^(ProcessLookupError|PermissionError)$/);
});

test('outside, the same program changes another process of its user', async () => {
  const victim = await startVictim();
  const { raised, others } = JSON.parse(runBare(RAISE, JSON.stringify([victim.pid])));
  expect(others).toEqual({ [victim.pid]: 'changed' });
  expect(Object.values(raised as Record<string, { limited: boolean }>).some(({ limited }) => !limited)).toBe(
    true,
  );
});

test('a command that lowers a limit only hurts itself', async () => {
  const lower = `
import resource as r
r.setrlimit(r.RLIMIT_CPU, (1, 1))
while True: pass
`;
  const end = await probe(lower, { limits: { cpu_time_ms: 20_000 } });
  expect(end.code).toMatch(/^tier\/(out-of-cpu|exited)$/);
  expect(await probe('print(1)')).toMatchObject({ code: 'ok' });
});
