/**
 * Runs children that end in every way, with an hour for each and for its grace, and prints how each ended. It has to end
 * by itself: a timer or a pipe that is left would keep it.
 */
import { closeSync, openSync } from 'node:fs';
import type { ChildPlan } from '../../../../src/tiers/child/child.ts';
import { runChild } from '../../../../src/tiers/child/run-child.ts';

const HOUR_MS = 3_600_000;
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };

async function run(script: string, wishes: Partial<ChildPlan> = {}, cancels = false): Promise<void> {
  const cancel = new AbortController();
  const plan: ChildPlan = {
    file: '/bin/sh',
    args: ['sh', '-c', script],
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    descriptors: [{ role: 'control' }, { role: 'status', maxBytes: 10 }],
    stdin: new Uint8Array(10),
    outputBytes: 10,
    wallMs: HOUR_MS,
    graceMs: HOUR_MS,
    ...wishes,
  };
  const onOutput = () => {
    if (cancels) cancel.abort();
  };
  const end = await runChild(plan, { signal: cancel.signal, clock, onOutput });
  console.log(end.spawnError ?? end.stopped ?? end.exitCode);
}

function openAll(): number[] {
  const opened: number[] = [];
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'));
  } catch {
    return opened;
  }
}

await run('exit 0');
await run('echo x; read x <&3', {}, true);
await run('read x <&3', { wallMs: 50 });
await run('exec yes');
await run('', { file: '/no/such/file' });
await run('', { args: ['sh', 'x'.repeat(4_000_000)] });
const opened = openAll();
await run('exit 0');
for (const fd of opened) closeSync(fd);
await run('exit 0');
process.once('exit', () => console.log('nothing is left'));
