import { type ChildProcess, type IOType, spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import {
  type ChildPlan,
  type Exit,
  errorName,
  FIRST_DESCRIPTOR,
  killGroup,
  type LiveChild,
  type OpenDescriptor,
} from './child.ts';

/** A child of this process. Some failures to start are returned as an error name, others become its exit. */
export function spawnChild(plan: ChildPlan): LiveChild | string {
  const [argv0 = plan.file, ...args] = plan.args;
  if (plan.descriptors.some(({ role }) => ['map', 'handles', 'sockets'].includes(role))) return 'ENOTSUP';
  try {
    const child = spawn(plan.file, args, {
      argv0,
      cwd: plan.cwd,
      env: exactly(plan.env),
      // A separate process group, so that one signal reaches everything that is left of it.
      detached: true,
      stdio: [plan.stdin === null ? 'ignore' : 'pipe', 'pipe', 'pipe', ...plan.descriptors.map(stdioOf)],
    });
    return liveOf(child, plan);
  } catch (error) {
    return errorName(error);
  }
}

function stdioOf(descriptor: OpenDescriptor): IOType | number {
  return descriptor.role === 'open' ? descriptor.fd : 'pipe';
}

/**
 * Boundary: Node hands its own NODE_V8_COVERAGE to every child whose environment does not have that name, and reads
 * inherited properties as variables.
 */
export function exactly(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return Object.assign(Object.create(null), { NODE_V8_COVERAGE: undefined }, env);
}

function liveOf(child: ChildProcess, { descriptors }: ChildPlan): LiveChild {
  // When descriptors run out, Node leaves out the list.
  const socket = (number: number) => duplexOf(child.stdio?.[number]);
  const ends = descriptors.map((_, index) => socket(FIRST_DESCRIPTOR + index));
  for (const [index, descriptor] of descriptors.entries()) {
    const end = ends[index];
    if (descriptor.role !== 'bytes' || !end) continue;
    end.on('error', () => undefined);
    end.end(descriptor.bytes, () => end.destroy());
  }
  return {
    ...{ stdin: socket(0), stdout: socket(1), stderr: socket(2), ends },
    exited: exitOf(child),
    servers: Promise.resolve([]),
    connect: () => Promise.resolve(null),
    kill: () => {
      // Boundary: Node uses pid 0 for a child that never started, and a signal to 0 reaches our own process group.
      if (child.pid === undefined) return;
      killGroup(child.pid);
      child.kill('SIGKILL');
    },
  };
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => {
      // Now and never later: while a process of the group lives its number is not reused, afterwards it may be.
      if (child.pid !== undefined) killGroup(child.pid);
      resolve({ exitCode, signal, spawnError: null });
    });
    child.on('error', (error) => {
      // A running child can have errors too (a signal that cannot be sent); they do not end it.
      if (child.pid === undefined) resolve({ exitCode: null, signal: null, spawnError: errorName(error) });
    });
  });
}

function duplexOf(stream: unknown): Duplex | null {
  return stream instanceof Duplex ? stream : null;
}
