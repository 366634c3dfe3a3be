import { isAbsolute } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import type { StreamName } from './capture.ts';

/** What the child finds at a number from 3 on. */
export type Descriptor =
  /** A descriptor of ours; it stays ours to close. */
  | { readonly kind: 'open'; readonly fd: number }
  /** We write these and close our end. */
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** We read so much of what is written there and drop the rest. */
  | { readonly kind: 'read'; readonly maxBytes: number }
  /** We keep our end open until the child shall end. */
  | { readonly kind: 'hold' };

/** All that makes a child: nothing of it is looked up, completed or inherited. */
export type ChildPlan = {
  /** Absolute: no search path is asked. */
  readonly file: string;
  /** The words of the command, its own name first. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The numbers 3, 4 and so on. */
  readonly descriptors: readonly Descriptor[];
  readonly stdin: Uint8Array | null;
  /** Standard output and standard error together. */
  readonly outputBytes: number;
  readonly wallMs: number;
  /** How long a child that was told to end may take, and how long a held pipe is waited for. */
  readonly graceMs: number;
};

export type ChildWatch = {
  readonly signal: AbortSignal;
  /** Told of each piece of output within the quota as it comes. */
  readonly onOutput?: (stream: StreamName, chunk: Uint8Array) => void;
  /** Told whenever something came on a descriptor of the kind `read`; they count from 0. */
  readonly onRead?: (index: number) => void;
  readonly clock: Clock;
};

export type StopReason = 'cancelled' | 'timed-out' | 'output';

/** How a child ended, with everything that was read of it by then. */
export type ChildEnd = {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Of both streams, as they are here. */
  readonly outputBytes: number;
  /** There was more output than the quota. */
  readonly truncated: boolean;
  /** Why we ended it; null where it ended by itself. */
  readonly stopped: StopReason | null;
  /** One for each descriptor of the kind `read`, in their order. */
  readonly read: readonly Uint8Array[];
  /** From its start to its own end. */
  readonly wallMs: number;
  /** The name of the error, as the system calls it, where nothing was started. */
  readonly spawnError: string | null;
};

/** Boundary: a plan with a word that the system would cut short, or a number that holds nothing back, does not start. */
export function isSound(plan: ChildPlan): boolean {
  const { file, args, env, cwd, descriptors, outputBytes, wallMs, graceMs } = plan;
  const names = Object.keys(env);
  const words = [file, cwd, ...args, ...names, ...Object.values(env)];
  const counts = [outputBytes, wallMs, graceMs, ...descriptors.map(numberOf)];
  return (
    isAbsolute(file) &&
    args.length > 0 &&
    words.every((word) => !word.includes('\0')) &&
    names.every((name) => name !== '' && !name.includes('=')) &&
    counts.every((count) => Number.isSafeInteger(count) && count >= 0)
  );
}

function numberOf(descriptor: Descriptor): number {
  switch (descriptor.kind) {
    case 'open':
      return descriptor.fd;
    case 'read':
      return descriptor.maxBytes;
    default:
      return 0;
  }
}
