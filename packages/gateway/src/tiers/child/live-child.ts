import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ChildEnd } from './child-plan.ts';

/** How a child went, or why it never came. */
export type Exit = Pick<ChildEnd, 'exitCode' | 'signal' | 'spawnError'>;

/** Our end of a descriptor that we only hold, or write to once. */
export type HeldEnd = { readonly destroy: () => void; readonly end: (bytes: Uint8Array) => void };
export type End = Duplex | HeldEnd;

/** A child that was started, as whoever attends it sees it. */
export type LiveChild = {
  readonly stdin: Duplex | null;
  readonly stdout: Duplex | null;
  readonly stderr: Duplex | null;
  /** Our end of each descriptor of the plan; null where we have none. */
  readonly ends: readonly (End | null)[];
  /** The listening sockets that it was to make, once all are there; null when it ended before. */
  readonly servers: Promise<readonly Server[] | null>;
  /** Settles when it has ended, and never rejects; what was left of its group has been killed by then. */
  readonly exited: Promise<Exit>;
  /** Kills its whole group. */
  readonly kill: () => void;
};

/** Every end of ours that there is. */
export function endsOf({ stdin, stdout, stderr, ends }: LiveChild): End[] {
  return [stdin, stdout, stderr, ...ends].filter((end) => end !== null);
}

/** The name that the system gives an error. */
export function errorName(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^E[A-Z0-9]+$/.test(code) ? code : 'EINVAL';
}

/** Ends all processes of a group, whose number is that of its first one. */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left in it.
  }
}
