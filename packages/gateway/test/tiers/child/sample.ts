import { readFileSync } from 'node:fs';
import type { ChildEnd, ChildPlan, ChildWatch } from '../../../src/tiers/child/child.ts';
import { runChild } from '../../../src/tiers/child/run-child.ts';
import { testClock } from '../../fixture/gateway.ts';

export type Wishes = Partial<ChildPlan> & Partial<Pick<ChildWatch, 'signal' | 'onOutput'>>;

/** A plan of a shell with this script; its limits are far away unless a test brings them near. */
export function planOf(script: string, wishes: Partial<ChildPlan> = {}): ChildPlan {
  return {
    file: '/bin/sh',
    args: ['sh', '-c', script],
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    descriptors: [],
    stdin: null,
    outputBytes: 65_536,
    wallMs: 50_000,
    graceMs: 10_000,
    ...wishes,
  };
}

export function runScript(script: string, wishes: Wishes = {}): Promise<ChildEnd> {
  const { signal = new AbortController().signal, onOutput, ...plan } = wishes;
  const watch = { signal, clock: testClock(), ...(onOutput === undefined ? {} : { onOutput }) };
  return runChild(planOf(script, plan), watch);
}

export function textOf(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Whether a process runs; one that is dead and only not yet fetched does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
