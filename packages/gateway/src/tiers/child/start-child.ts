import {
  type ChildEnd,
  type ChildPlan,
  type ChildTerms,
  type ChildWatch,
  isSound,
  type StartPlan,
} from './child-plan.ts';
import type { LiveChild } from './live-child.ts';
import { RunningChild } from './running-child.ts';
import { spawnChild } from './spawn-child.ts';

export type { ChildEnd, ChildPlan, ChildWatch, Descriptor, StartPlan } from './child-plan.ts';

/*
 * Where a plan becomes a process. What comes in was checked: the words and the environment are those of the plan and
 * nothing is added. The child is not trusted: it may flood, hang, leave others behind that hold its pipes, and write into
 * every descriptor it has. Whatever it does, its memory here is bounded by the plan, the caller gets an end, and nothing
 * stays open. The process that is started is a launcher: it drops rights and sets limits, none of that is done here.
 */

/** Starts what a plan says with the launcher in this file; a failure is the name that the system gives it. */
export type StartChild = (launcher: string, plan: StartPlan) => Promise<LiveChild | string>;

/** Runs a child of this process to its end. Every way it ends, not starting included, is a value; only a throwing `onOutput` rejects. */
export async function runChild(plan: ChildPlan, watch: ChildWatch): Promise<ChildEnd> {
  if (watch.signal.aborted) return unstarted(plan, { stopped: 'cancelled' });
  if (!isSound(plan)) return unstarted(plan, { spawnError: 'EINVAL' });
  const startedMs = watch.clock.monotonicMs();
  const child = spawnChild(plan);
  if (typeof child === 'string') return unstarted(plan, { spawnError: child });
  return new RunningChild({ child, plan, watch, startedMs }).ended;
}

/** Attends a child that was started elsewhere, from now on to its end. */
export function attendChild(child: LiveChild, plan: ChildTerms, watch: ChildWatch): Promise<ChildEnd> {
  const running = new RunningChild({ child, plan, watch, startedMs: watch.clock.monotonicMs() });
  if (watch.signal.aborted) running.cancel();
  return running.ended;
}

/** The end of a child that never began. */
export function unstarted(
  plan: ChildTerms,
  why: Partial<Pick<ChildEnd, 'stopped' | 'spawnError'>>,
): ChildEnd {
  const none = new Uint8Array(0);
  return {
    exitCode: null,
    signal: null,
    stdout: none,
    stderr: none,
    outputBytes: 0,
    truncated: false,
    stopped: null,
    read: plan.descriptors.filter(({ kind }) => kind === 'read').map(() => none),
    wallMs: 0,
    spawnError: null,
    ...why,
  };
}
