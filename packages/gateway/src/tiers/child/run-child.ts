/*
 * Where a plan becomes a process. The plan is already checked: the arguments and the environment are exactly those of
 * the plan. The child is not trusted: it may flood, hang, leave processes that hold its pipes, and write to every
 * descriptor. Whatever it does, its memory here is bounded by the plan, the caller gets a result, and nothing stays
 * open. The process is a launcher, which drops privileges and sets limits.
 */
import { Duplex } from 'node:stream';
import {
  type ChildEnd,
  type ChildPlan,
  type ChildTerms,
  type ChildWatch,
  type End,
  type Exit,
  endsOf,
  isSound,
  type LiveChild,
  type StartPlan,
  type StdinWriter,
  type StopReason,
} from './child.ts';
import { ByteStore, OutputCapture, type StreamName } from './output.ts';
import { spawnChild } from './spawn-child.ts';

/** Starts a plan with the launcher in this file; a failure is the system's error name. */
export type StartChild = (launcher: string, plan: StartPlan) => Promise<LiveChild | string>;

/** Runs a child of this process to its end. Every outcome is a value; only a throwing `onOutput` rejects. */
export async function runChild(plan: ChildPlan, watch: ChildWatch): Promise<ChildEnd> {
  if (watch.signal.aborted) return unstarted(plan, { stopped: 'cancelled' });
  if (!isSound(plan)) return unstarted(plan, { spawnError: 'EINVAL' });
  const startedMs = watch.clock.monotonicMs();
  const child = spawnChild(plan);
  if (typeof child === 'string') return unstarted(plan, { spawnError: child });
  return new RunningChild({ child, plan, watch, startedMs }).ended;
}

/** Supervises a child that was started elsewhere until it ends. */
export function attendChild(child: LiveChild, plan: ChildTerms, watch: ChildWatch): Promise<ChildEnd> {
  const running = new RunningChild({ child, plan, watch, startedMs: watch.clock.monotonicMs() });
  if (watch.signal.aborted) running.cancel();
  return running.ended;
}

/** The result of a child that never started. */
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
    read: plan.descriptors.filter(({ role }) => role === 'status').map(() => none),
    wallMs: 0,
    spawnError: null,
    ...why,
  };
}

type Started = {
  readonly child: LiveChild;
  readonly plan: ChildTerms;
  readonly watch: ChildWatch;
  readonly startedMs: number;
};

type Ended = Exit & Pick<ChildEnd, 'wallMs'>;

/** On the control descriptor: the launcher sends the command a SIGTERM. */
const ASK_TO_END = Buffer.from('T');

/** A longer timer would fire immediately. */
const MAX_TIMER_MS = 2_147_483_647;

/** One child from its start to its end. When `ended` settles, none of its descriptors, timers or listeners is left. */
class RunningChild {
  readonly ended: Promise<ChildEnd>;
  readonly #child: LiveChild;
  readonly #plan: ChildTerms;
  readonly #watch: ChildWatch;
  readonly #startedMs: number;
  readonly #output: OutputCapture;
  readonly #read: ByteStore[] = [];
  readonly #holds: End[] = [];
  readonly #reading = new Set<Duplex>();
  readonly #cancel = () => this.cancel();
  /** One at a time: first for the wall clock, then for the kill, then for pipes that do not end. */
  #timer: NodeJS.Timeout | undefined;
  #stopped: StopReason | null = null;
  #exit: Ended | null = null;
  /** How much it wrote in total, once it has reported that. */
  #outputOfAll: number | null = null;
  #broken: { readonly error: unknown } | null = null;
  #settle: { resolve: (end: ChildEnd) => void; reject: (error: unknown) => void } | null = null;

  constructor({ child, plan, watch, startedMs }: Started) {
    this.#child = child;
    this.#plan = plan;
    this.#watch = watch;
    this.#startedMs = startedMs;
    this.#output = new OutputCapture(watch.feed === undefined ? plan.outputBytes : 'dialogue');
    this.ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#listen();
    this.#feed();
  }

  cancel(): void {
    this.#stop('cancelled');
  }

  #listen(): void {
    const { signal } = this.#watch;
    void this.#child.exited.then((exit) => this.#onExit(exit));
    for (const end of endsOf(this.#child)) if (end instanceof Duplex) end.on('error', ignore);
    for (const name of ['stdout', 'stderr'] as const) {
      this.#readAll(this.#child[name], (chunk) => this.#take(name, chunk));
    }
    signal.addEventListener('abort', this.#cancel, { once: true });
    this.#after(this.#plan.wallMs, () => this.#stop('timed-out'));
  }

  /** Writes the child's input and collects its output. A child that does not read blocks nothing. */
  #feed(): void {
    const { stdin } = this.#child;
    const askToEnd = () => {
      for (const hold of this.#holds) hold.write(ASK_TO_END);
    };
    if (stdin !== null && this.#watch.feed !== undefined) this.#watch.feed({ ...feedOf(stdin), askToEnd });
    else if (this.#plan.stdin !== null) stdin?.end(this.#plan.stdin);
    for (const [index, descriptor] of this.#plan.descriptors.entries()) {
      const end = this.#child.ends[index] ?? null;
      if (descriptor.role === 'control' && end !== null) this.#holds.push(end);
      if (descriptor.role === 'status')
        this.#collect(end instanceof Duplex ? end : null, descriptor.maxBytes);
    }
  }

  #collect(socket: Duplex | null, maxBytes: number): void {
    const store = new ByteStore();
    const index = this.#read.push(store) - 1;
    // Boundary: excess bytes are read and dropped, so that neither our memory grows nor the launcher blocks.
    this.#readAll(socket, (chunk) => {
      store.append(chunk.subarray(0, maxBytes - store.length));
      this.#watch.onRead?.(index);
      this.#outputOfAll ??= this.#watch.lastWord?.(index, store) ?? null;
      this.#finishWhenSaid();
    });
  }

  #readAll(socket: Duplex | null, take: (chunk: Uint8Array) => void): void {
    if (socket === null) return;
    this.#reading.add(socket);
    socket.on('data', take);
    socket.once('close', () => {
      this.#reading.delete(socket);
      this.#finishWhenRead();
    });
  }

  #take(stream: StreamName, chunk: Uint8Array): void {
    const kept = this.#output.take(stream, chunk);
    if (kept.length > 0) this.#tell(stream, kept);
    if (!this.#output.quotaExceeded) {
      this.#finishWhenSaid();
      return;
    }
    // Boundary: past the quota nothing is read any more, or the child could go on until the kill takes effect.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    this.#stop('output');
  }

  #tell(stream: StreamName, chunk: Uint8Array): void {
    if (this.#broken !== null) return;
    try {
      this.#watch.onOutput?.(stream, chunk);
    } catch (error) {
      this.#broken = { error };
      this.#stop('cancelled');
    }
  }

  /** The first reason is kept. A launcher that sees its descriptor closed kills its tree; other children are killed. */
  #stop(reason: StopReason): void {
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    if (this.#exit !== null) return;
    for (const hold of this.#holds) hold.destroy();
    if (this.#holds.length === 0) this.#kill();
    else this.#after(this.#plan.graceMs, () => this.#kill());
  }

  #kill(): void {
    clearTimeout(this.#timer);
    this.#child.kill();
  }

  #onExit(exit: Exit): void {
    if (this.#exit !== null) return;
    const wallMs = Math.ceil(this.#watch.clock.monotonicMs() - this.#startedMs);
    this.#exit = { ...exit, wallMs };
    this.#watch.signal.removeEventListener('abort', this.#cancel);
    if (exit.spawnError !== null) this.#reading.clear();
    // Boundary: a process that left the group and still holds a pipe is waited for this long and no longer.
    this.#after(this.#plan.graceMs, () => this.#finish());
    this.#finishWhenRead();
  }

  /**
   * It has reported that all is over, and all the output that it passed on has arrived: its own exit is not waited for.
   * Others may have written before it, so the pipes are read first, until a turn of the event loop brings nothing more.
   */
  #finishWhenSaid(): void {
    if (this.#outputOfAll === null || this.#output.length < this.#outputOfAll) return;
    const before = this.#output.length;
    setImmediate(() => {
      if (this.#output.length > before) return this.#finishWhenSaid();
      if (this.#exit === null) this.#onExit({ exitCode: null, signal: null, spawnError: null });
      this.#finish();
    });
  }

  #finishWhenRead(): void {
    if (this.#exit !== null && this.#reading.size === 0) this.#finish();
  }

  #finish(): void {
    const settle = this.#settle;
    if (settle === null || this.#exit === null) return;
    this.#settle = null;
    clearTimeout(this.#timer);
    for (const end of endsOf(this.#child)) end.destroy();
    if (this.#broken === null) settle.resolve(this.#endOf(this.#exit));
    else settle.reject(this.#broken.error);
  }

  #endOf(exit: Ended): ChildEnd {
    const output = this.#output;
    return {
      ...exit,
      // Assembled on demand: for a large output that takes as long as reading it.
      get stdout() {
        return output.bytes('stdout');
      },
      get stderr() {
        return output.bytes('stderr');
      },
      outputBytes: this.#output.keptBytes,
      truncated: this.#output.isCut,
      stopped: this.#stopped,
      read: this.#read.map((store) => store.bytes()),
    };
  }

  #after(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, Math.min(ms, MAX_TIMER_MS));
  }
}

function feedOf(stdin: Duplex): Omit<StdinWriter, 'askToEnd'> {
  return {
    write: (bytes) => {
      if (!stdin.destroyed && !stdin.writableEnded) stdin.write(bytes);
      return stdin.writableLength;
    },
    end: () => void stdin.end(),
  };
}

function ignore(): void {}
