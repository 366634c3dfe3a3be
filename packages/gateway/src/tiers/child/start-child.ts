import { type ChildProcess, type IOType, spawn } from 'node:child_process';
import { type ChildEnd, type ChildPlan, type ChildWatch, type Descriptor, isSound } from './child-plan.ts';
import { errorName, RunningChild } from './running-child.ts';

export type { ChildEnd, ChildPlan, ChildWatch, Descriptor } from './child-plan.ts';

/*
 * The one place where a plan becomes a process. What comes in was checked: the file, its words and its environment are
 * those of the plan and nothing is added. The child is not trusted: it may flood, hang, leave others behind that hold its
 * pipes, and write into every descriptor it has. Whatever it does, its memory here is bounded by the plan, the caller gets
 * an end, and nothing stays open. The process that is started is a launcher: it drops rights and sets limits, none of that
 * is done here. Call this in the main thread: a launcher that dies with its parent dies with the thread that started it.
 */

/** Runs a child to its end. Every way it ends, not starting included, is a value; only a throwing `onOutput` rejects. */
export async function runChild(plan: ChildPlan, watch: ChildWatch): Promise<ChildEnd> {
  if (watch.signal.aborted) return unstarted(plan, { stopped: 'cancelled' });
  if (!isSound(plan)) return unstarted(plan, { spawnError: 'EINVAL' });
  const startedMs = watch.clock.monotonicMs();
  const child = start(plan);
  if (typeof child === 'string') return unstarted(plan, { spawnError: child });
  return new RunningChild({ child, plan, watch, startedMs }).ended;
}

/** Some failures to start are thrown and some become events: the thrown ones are the names given here. */
function start(plan: ChildPlan): ChildProcess | string {
  const [argv0 = plan.file, ...args] = plan.args;
  try {
    return spawn(plan.file, args, {
      argv0,
      cwd: plan.cwd,
      env: exactly(plan.env),
      // A process group of its own, so that one signal reaches what is left of it.
      detached: true,
      stdio: [plan.stdin === null ? 'ignore' : 'pipe', 'pipe', 'pipe', ...plan.descriptors.map(stdioOf)],
    });
  } catch (error) {
    return errorName(error);
  }
}

function stdioOf(descriptor: Descriptor): IOType | number {
  return descriptor.kind === 'open' ? descriptor.fd : 'pipe';
}

/**
 * Boundary: Node hands its own NODE_V8_COVERAGE to every child whose environment does not have that name, and reads
 * inherited properties as variables.
 */
function exactly(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return Object.assign(Object.create(null), { NODE_V8_COVERAGE: undefined }, env);
}

function unstarted(plan: ChildPlan, why: Partial<Pick<ChildEnd, 'stopped' | 'spawnError'>>): ChildEnd {
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
