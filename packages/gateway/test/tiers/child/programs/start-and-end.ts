/**
 * Runs children of a starter that end in every way, with an hour for each and for its grace, and prints how each ended.
 * Its words are the launcher's file and what the launcher has to be told. It never closes the starter and has to end by
 * itself all the same.
 */
import { closeSync, openSync } from 'node:fs';
import type { StartPlan } from '../../../../src/tiers/child/child.ts';
import { attendChild } from '../../../../src/tiers/child/run-child.ts';
import { Starter } from '../../../../src/tiers/child/starter.ts';

const HOUR_MS = 3_600_000;
const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
const [launcher = '', ...identity] = process.argv.slice(2);
const starter = new Starter();

async function run(script: string, wishes: Partial<StartPlan> = {}, cancels = false): Promise<void> {
  const cancel = new AbortController();
  const variables = ['set=PATH=/usr/bin:/bin'];
  const plan: StartPlan = {
    words: [...identity, ...variables, 'mode=exec', 'keep=3', 'keep=4', '--', '/bin/sh', 'sh', '-c', script],
    descriptors: [{ role: 'control' }, { role: 'status', maxBytes: 10 }],
    stdin: new Uint8Array(10),
    outputBytes: 10,
    wallMs: HOUR_MS,
    graceMs: HOUR_MS,
    ...wishes,
  };
  const child = await starter.start(launcher, plan);
  if (typeof child === 'string') {
    console.log(child);
    return;
  }
  const onOutput = () => {
    if (cancels) cancel.abort();
  };
  const end = await attendChild(child, plan, { signal: cancel.signal, clock, onOutput });
  console.log(
    end.stopped ?? end.signal ?? (end.exitCode === 0 ? new TextDecoder().decode(end.read[0]) : 'no'),
  );
}

function openAll(): number[] {
  const opened: number[] = [];
  try {
    for (;;) opened.push(openSync('/dev/null', 'r'));
  } catch {
    return opened;
  }
}

async function runWithoutDescriptors(): Promise<void> {
  const opened = openAll();
  await run('exit 0');
  for (const fd of opened) closeSync(fd);
}

// Once without a starter, and once with one whose pipes cannot be opened.
await runWithoutDescriptors();
await run('printf $PPID >&4');
await runWithoutDescriptors();
await run('echo x; read x <&3', {}, true);
await run('read x <&3', { wallMs: 50 });
await run('exec yes');
await run('kill -SEGV $$');
await run('exit 0', { descriptors: [{ role: 'open', fd: 9_999 }] });
await run('printf $PPID >&4');
process.once('exit', () => console.log('nothing is left'));
