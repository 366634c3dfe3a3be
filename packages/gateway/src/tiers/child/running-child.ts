import type { ChildProcess } from 'node:child_process';
import { Duplex } from 'node:stream';
import { ByteStore, Capture, type StreamName } from './capture.ts';
import type { ChildEnd, ChildPlan, ChildWatch, StopReason } from './child-plan.ts';

export type Started = {
  readonly child: ChildProcess;
  readonly plan: ChildPlan;
  readonly watch: ChildWatch;
  readonly startedMs: number;
};

type Exit = Pick<ChildEnd, 'exitCode' | 'signal' | 'wallMs' | 'spawnError'>;

/** After standard input, output and error. */
const FIRST_DESCRIPTOR = 3;

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** One child from its start to its end. When `ended` settles, no descriptor, timer or listener of it is left. */
export class RunningChild {
  readonly ended: Promise<ChildEnd>;
  readonly #child: ChildProcess;
  readonly #plan: ChildPlan;
  readonly #watch: ChildWatch;
  readonly #startedMs: number;
  readonly #output: Capture;
  readonly #read: ByteStore[] = [];
  readonly #holds: Duplex[] = [];
  /** The streams that have not come to their end. */
  readonly #reading = new Set<Duplex>();
  readonly #cancel = () => this.#stop('cancelled');
  /** There is one at a time: first for the wall clock, then for the kill, then for pipes that do not end. */
  #timer: NodeJS.Timeout | undefined;
  #stopped: StopReason | null = null;
  #exit: Exit | null = null;
  #broken: { readonly error: unknown } | null = null;
  #settle: { resolve: (end: ChildEnd) => void; reject: (error: unknown) => void } | null = null;

  constructor({ child, plan, watch, startedMs }: Started) {
    this.#child = child;
    this.#plan = plan;
    this.#watch = watch;
    this.#startedMs = startedMs;
    this.#output = new Capture(plan.outputBytes);
    this.ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#listen();
    this.#feed();
  }

  #listen(): void {
    const { signal } = this.#watch;
    this.#child.once('exit', (exitCode, name) => this.#onExit({ exitCode, signal: name, spawnError: null }));
    this.#child.on('error', (error) => this.#onError(error));
    for (const socket of this.#sockets()) socket.on('error', ignore);
    for (const name of ['stdout', 'stderr'] as const) {
      this.#readAll(duplexOf(this.#child[name]), (chunk) => this.#take(name, chunk));
    }
    signal.addEventListener('abort', this.#cancel, { once: true });
    this.#after(this.#plan.wallMs, () => this.#stop('timed-out'));
  }

  /** Writes what the child is given and collects what it tells. A child that does not read holds nobody. */
  #feed(): void {
    if (this.#plan.stdin !== null) this.#child.stdin?.end(this.#plan.stdin);
    for (const [index, descriptor] of this.#plan.descriptors.entries()) {
      const socket = duplexOf(this.#child.stdio?.[FIRST_DESCRIPTOR + index]);
      if (descriptor.kind === 'hold' && socket !== null) this.#holds.push(socket);
      if (descriptor.kind === 'bytes') socket?.end(descriptor.bytes, () => socket.destroy());
      if (descriptor.kind === 'read') this.#collect(socket, descriptor.maxBytes);
    }
  }

  #collect(socket: Duplex | null, maxBytes: number): void {
    const store = new ByteStore();
    const index = this.#read.push(store) - 1;
    // Boundary: what is too much is dropped and still read, so that neither we grow nor the launcher blocks.
    this.#readAll(socket, (chunk) => {
      store.append(chunk.subarray(0, maxBytes - store.length));
      this.#watch.onRead?.(index);
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
    if (!this.#output.isPassed) return;
    // Boundary: past the quota nothing is read any more, or the child could go on until the kill arrives.
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

  /** The first reason stays. A launcher that sees its descriptor closed kills its tree; other children are killed. */
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
    // Boundary: a child that never started has the number 0, and a signal to that reaches our own process group.
    if (this.#child.pid === undefined) return;
    this.#killGroup(this.#child.pid);
    this.#child.kill('SIGKILL');
  }

  #killGroup(pid: number): void {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // Nobody is left in it.
    }
  }

  #onExit(exit: Omit<Exit, 'wallMs'>): void {
    const wallMs = Math.ceil(this.#watch.clock.monotonicMs() - this.#startedMs);
    this.#exit = { ...exit, wallMs };
    this.#watch.signal.removeEventListener('abort', this.#cancel);
    // Now and never later: while one of it lives the number of the group is not given away, afterwards it may be.
    if (this.#child.pid !== undefined) this.#killGroup(this.#child.pid);
    // Boundary: whoever left the group and still holds a pipe is waited for so long and no longer.
    this.#after(this.#plan.graceMs, () => this.#finish());
    this.#finishWhenRead();
  }

  #onError(error: Error): void {
    // A child that runs has errors too (a signal that cannot be sent); they do not end it.
    if (this.#child.pid !== undefined) return;
    this.#reading.clear();
    this.#onExit({ exitCode: null, signal: null, spawnError: errorName(error) });
  }

  #finishWhenRead(): void {
    if (this.#exit !== null && this.#reading.size === 0) this.#finish();
  }

  #finish(): void {
    const settle = this.#settle;
    if (settle === null || this.#exit === null) return;
    this.#settle = null;
    clearTimeout(this.#timer);
    for (const socket of this.#sockets()) socket.destroy();
    if (this.#broken === null) settle.resolve(this.#endOf(this.#exit));
    else settle.reject(this.#broken.error);
  }

  #endOf(exit: Exit): ChildEnd {
    return {
      ...exit,
      stdout: this.#output.bytes('stdout'),
      stderr: this.#output.bytes('stderr'),
      outputBytes: this.#output.length,
      truncated: this.#output.isPassed,
      stopped: this.#stopped,
      read: this.#read.map((store) => store.bytes()),
    };
  }

  #sockets(): Duplex[] {
    // Where descriptors ran out, Node leaves the list away.
    return (this.#child.stdio ?? []).map(duplexOf).filter((socket) => socket !== null);
  }

  #after(ms: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, Math.min(ms, MAX_TIMER_MS));
  }
}

/** The name that the system gives an error. */
export function errorName(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^E[A-Z0-9]+$/.test(code) ? code : 'EINVAL';
}

function duplexOf(stream: unknown): Duplex | null {
  return stream instanceof Duplex ? stream : null;
}

function ignore(): void {}
