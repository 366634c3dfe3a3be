import { closeSync, writeSync } from 'node:fs';
import { type Server, Socket } from 'node:net';
import { isAbsolute } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../core/clock.ts';
import type { AsRoot } from '../../core/process.ts';
import { orElse } from '../../core/result.ts';
import type { ByteStore, StreamName } from './output.ts';
import { MAX_STATUS_BYTES } from './status.ts';

/** The inputs and limits of a child. */
export type ChildTerms = {
  /** The numbers 3, 4 and so on. */
  readonly descriptors: readonly OpenDescriptor[];
  readonly stdin: Uint8Array | null;
  /** Standard output and standard error together. */
  readonly outputBytes: number;
  readonly wallMs: number;
  /** How long a child that was asked to end may take, and how long a pipe that is held open is waited for. */
  readonly graceMs: number;
};

/** Everything that defines a child: nothing is looked up, completed or inherited. */
export type ChildPlan = ChildTerms & {
  /** Absolute: no search path is used. */
  readonly file: string;
  /** The arguments of the command, its own name first. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
};

/** A child that the starter starts: a launcher with these arguments, without an environment, at the root. */
export type StartPlan = ChildTerms & { readonly words: readonly string[] };

/** The standard input of a child that is written to while it runs. */
export type StdinWriter = {
  /** Returns how many bytes are queued because the child has not read them. */
  readonly write: (bytes: Uint8Array) => number;
  readonly end: () => void;
  /** Has the launcher ask the command to end with SIGTERM; it may ignore that. */
  readonly askToEnd: () => void;
};

export type ChildWatch = {
  readonly signal: AbortSignal;
  /**
   * Provides the standard input of the child in place of the one in the plan. The output of such a child is passed to
   * `onOutput` and not kept, so that it can go on indefinitely; only the beginning of its errors is kept.
   */
  readonly feed?: (stdin: StdinWriter) => void;
  /** Called with each chunk of output within the quota as it arrives. */
  readonly onOutput?: (stream: StreamName, chunk: Uint8Array) => void;
  /** Called whenever something arrives on a descriptor of the role `status`; they count from 0. */
  readonly onRead?: (index: number) => void;
  /**
   * Inspects what arrived on such a descriptor: once the child has reported there that all is over, returns how many
   * bytes of output belong to it; null before. What the child itself does from then on does not matter.
   */
  readonly lastWord?: (index: number, said: ByteStore) => number | null;
  readonly clock: Clock;
};

export type StopReason = 'cancelled' | 'timed-out' | 'output';

/** How a child ended, with everything that was read from it by then. */
export type ChildEnd = {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Of both streams, as received. */
  readonly outputBytes: number;
  /** The output exceeded the quota. */
  readonly truncated: boolean;
  /** Why we ended it; null where it ended by itself. */
  readonly stopped: StopReason | null;
  /** One for each descriptor of the role `status`, in their order. */
  readonly read: readonly Uint8Array[];
  readonly wallMs: number;
  /** The name of the error, as the system calls it, where nothing was started. */
  readonly spawnError: string | null;
};

/** Boundary: a plan with an argument that the system would cut short, or an ineffective limit, does not start. */
export function isSound(plan: ChildPlan): boolean {
  const { file, args, env, cwd } = plan;
  const names = Object.keys(env);
  return (
    isAbsolute(file) &&
    args.length > 0 &&
    areWords([file, cwd, ...args, ...names, ...Object.values(env)]) &&
    names.every((name) => name !== '' && !name.includes('=')) &&
    areSoundTerms(plan)
  );
}

/** The same for a plan of the starter. */
export function isSoundStart(plan: StartPlan): boolean {
  return areWords(plan.words) && areSoundTerms(plan);
}

function areWords(words: readonly string[]): boolean {
  return words.every((word) => !word.includes('\0'));
}

function areSoundTerms({ descriptors, outputBytes, wallMs, graceMs }: ChildTerms): boolean {
  const counts = [outputBytes, wallMs, graceMs, ...descriptors.map(numberOf)];
  return counts.every((count) => Number.isSafeInteger(count) && count >= 0);
}

function numberOf(descriptor: OpenDescriptor): number {
  switch (descriptor.role) {
    case 'open':
      return descriptor.fd;
    case 'status':
      return descriptor.maxBytes;
    case 'handles':
      return descriptor.count;
    case 'map':
      return Math.min(descriptor.owner.uid, descriptor.owner.gid, descriptor.uid, descriptor.gid);
    default:
      return 0;
  }
}

/** How a child ended, or why it did not start. */
export type Exit = Pick<ChildEnd, 'exitCode' | 'signal' | 'spawnError'>;

/** Our end of a descriptor that we only keep open, or write little to. */
type HeldEnd = {
  readonly destroy: () => void;
  readonly end: (bytes: Uint8Array) => void;
  /** What the pipe does not take at once is dropped. */
  readonly write: (bytes: Uint8Array) => void;
};
export type End = Duplex | HeldEnd;

/** A child that was started, as its caller sees it. */
export type LiveChild = {
  readonly stdin: Duplex | null;
  readonly stdout: Duplex | null;
  readonly stderr: Duplex | null;
  /** Our end of each descriptor of the plan; null where we have none. */
  readonly ends: readonly (End | null)[];
  /** The listening sockets that it was to create, once all exist; null when it ended first. */
  readonly servers: Promise<readonly Server[] | null>;
  /** A connection to a port of its plan, in its network; null where nothing listens there, or it has ended. */
  readonly connect: (port: number) => Promise<Socket | null>;
  /** Settles when it has ended, and never rejects; the rest of its process group has been killed by then. */
  readonly exited: Promise<Exit>;
  readonly kill: () => void;
};

/** Every end that we have open. */
export function endsOf({ stdin, stdout, stderr, ends }: LiveChild): End[] {
  return [stdin, stdout, stderr, ...ends].filter((end) => end !== null);
}

/** The name that the system gives an error. */
export function errorName(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^E[A-Z0-9]+$/.test(code) ? code : 'EINVAL';
}

/** Kills all processes of a group, whose number is that of its first process. */
export function killGroup(pid: number): void {
  // It fails when no process is left in the group.
  orElse(() => process.kill(-pid, 'SIGKILL'), false);
}

/** The write end of a pipe that is only kept open or gets short messages: it needs no stream. */
export function heldEnd(fd: number): HeldEnd {
  let isOurs = true;
  let waiting: Socket | null = null;
  const destroy = () => {
    if (isOurs) closeSync(fd);
    isOurs = false;
    waiting?.destroy();
  };
  return {
    destroy,
    write: (bytes) => void (isOurs && writeNow(fd, bytes)),
    end: (bytes) => {
      if (!isOurs) return;
      const rest = bytes.subarray(writeNow(fd, bytes));
      if (rest.length === 0) {
        destroy();
        return;
      }
      // A pipe has a limited capacity; the rest waits for its reader.
      waiting = new Socket({ fd, readable: false, writable: true });
      isOurs = false;
      waiting.on('error', () => undefined);
      waiting.end(rest);
    },
  };
}

/** How many of the bytes the pipe accepted at once; all of them where it no longer has a reader. */
function writeNow(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EAGAIN' ? 0 : bytes.length;
  }
}

/**
 * The descriptors of a run, which its launcher finds from number 3 on: one union for plans, which open nothing and
 * refer to files by name, for the child, whose files are open, and for the starter, which is sent a word for each.
 */

export type Descriptor = NamedDescriptor | OpenDescriptor;

/** Opened when the run starts. */
type NamedDescriptor =
  /** The options of bubblewrap, each followed by a NUL. */
  | { readonly role: 'args' }
  /** The launcher's file, opened again for each run: it is read from the descriptor's offset. */
  | { readonly role: 'launcher' }
  /** A file of the host that is copied into the sandbox; a link in its place is not followed. */
  | { readonly role: 'host-file'; readonly path: string }
  | { readonly role: 'workspace' }
  /** A path in the workspace, opened without following a link, or the run is refused. */
  | { readonly role: 'pinned' | 'protected'; readonly path: string }
  | { readonly role: 'cgroup'; readonly index: number };

export type OpenDescriptor =
  /** A descriptor of ours, which we close ourselves. It is for reading, unless it says otherwise. */
  | { readonly role: 'open'; readonly fd: number; readonly writes?: true }
  /** We write these and close our end. */
  | { readonly role: 'bytes'; readonly name?: string; readonly bytes: Uint8Array | string }
  /** Where the launcher reports: we read this much and drop the rest. */
  | { readonly role: 'status'; readonly maxBytes: number }
  /** We keep our end open until the child is to end. */
  | { readonly role: 'control' }
  /** The caller writes the arguments of the launcher there, once. */
  | { readonly role: 'words' }
  /** What the child reads, or writes, while both sides exist; our end belongs to the caller. */
  | { readonly role: 'stream'; readonly way: 'in' | 'out' }
  /** This many listening sockets are passed back through it; only the starter can receive them. */
  | { readonly role: 'handles'; readonly count: number }
  /** Connected sockets are passed back through it while the child runs, as `connect` asks for them. */
  | { readonly role: 'sockets' }
  /** A user namespace in which the owner of files is another user; only the starter can create it. */
  | ({ readonly role: 'map' } & AsRoot);

/** After standard input, output and error. */
export const FIRST_DESCRIPTOR = 3;

/** Where the launcher reports, with space for the mounts of any machine. */
export const STATUS = { role: 'status', maxBytes: MAX_STATUS_BYTES } as const;

/** Assigns the next number to a descriptor. */
export type AddDescriptor = (descriptor: Descriptor) => number;

/** Numbers descriptors: each gets the next number, and the list has them in that order. */
export function layOutDescriptors(): {
  readonly list: readonly Descriptor[];
  readonly add: AddDescriptor;
  /** The number of the first one with this role. */
  readonly numberOf: (role: Descriptor['role']) => number;
} {
  const list: Descriptor[] = [];
  return {
    list,
    add: (descriptor) => FIRST_DESCRIPTOR - 1 + list.push(descriptor),
    numberOf: (wanted) => FIRST_DESCRIPTOR + list.findIndex(({ role }) => role === wanted),
  };
}
