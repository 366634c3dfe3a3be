import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sharedGateway } from '../fixtures/commands/index.ts';
import { printedBy, proberOf, runBare } from '../fixtures/commands/probe.ts';

/* A command crashes to have its memory written to a file, or piped to a program of the host that runs as root. */

const gateway = sharedGateway();
const probe = proberOf(gateway);

/** Crashes in a child, after trying to have a core; the parent asks the kernel whether one was made. */
const CRASH = `
import json, os, resource as r, signal
pid = os.fork()
if pid == 0:
    try: r.setrlimit(r.RLIMIT_CORE, (r.RLIM_INFINITY, r.RLIM_INFINITY))
    except (OSError, ValueError): pass
    os.kill(os.getpid(), signal.SIGSEGV)
status = os.waitpid(pid, 0)[1]
print(json.dumps({'signal': os.WTERMSIG(status), 'core': os.WCOREDUMP(status)}))
`;

test('a crash in a run leaves no core, by the word of the kernel', async () => {
  const before = readdirSync(gateway.workspace);
  const end = await probe(CRASH);
  expect(printedBy(end)).toEqual({ signal: 11, core: false });
  expect(readdirSync(gateway.workspace).filter((name) => name.includes('core'))).toEqual([]);
  expect(readdirSync(gateway.workspace)).toEqual([...before, 'probe-1.py'].sort());
});

test('the crash of the command itself is told with what it had written', async () => {
  const program = 'import os, signal\nprint("about to", flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)';
  expect(await probe(program)).toMatchObject({
    code: 'tier/exited',
    output: { signal: 'SIGSEGV', exitCode: null, stdout: 'about to\n' },
  });
});

test('outside, the same crash leaves a core', () => {
  const directory = mkdtempSync('/var/tmp/palisade-core-');
  try {
    chmodSync(directory, 0o777);
    expect(JSON.parse(runBare(CRASH, '', directory))).toEqual({ signal: 11, core: true });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
