import type { Duplex } from 'node:stream';
import { readDoneHead, readPrepared } from './ending.ts';
import { ABI_FUNCTIONS } from './engine/abi.table.ts';
import {
  type CallHead,
  type DoneHead,
  type Frame,
  FrameReader,
  frameOf,
  LOG_LINE_BYTES,
  type LogHead,
  MOST_REQUEST_BYTES,
  type ModuleRefusal,
  mostFormBytes,
  type PrepareHead,
  type RequestHead,
} from './engine/protocol.ts';
import type { Form } from './modules.ts';

/** An engine that was started: the two ways to it, and how it is ended. */
export type EngineEnds = {
  readonly send: Duplex;
  readonly receive: Duplex;
  /** Settles when it has ended, by itself or not, and never rejects. */
  readonly ended: Promise<void>;
  readonly kill: () => void;
  /** What held it, for the receipts of its calls. */
  readonly isolation: Readonly<Record<string, string | number | boolean>>;
};

type EngineModule = { readonly key: string; readonly form: Form };

export type EngineCall = {
  readonly module: EngineModule;
  readonly head: CallHead;
  readonly input: Uint8Array;
};

/** What a guest requests, as the engine sends it; nothing of it was checked yet. */
export type GuestRequest = { readonly head: RequestHead; readonly bytes: Uint8Array };
export type HostReply = { readonly result: number; readonly bytes?: Uint8Array };

export type CallListeners = {
  readonly onRequest: (request: GuestRequest) => Promise<HostReply>;
  /** The level is what the engine sends; it was not checked. */
  readonly onLog: (level: unknown, text: Uint8Array) => void;
};

/** Called when a guest makes a request and when the answer has come; the guest gets it when the promise resolves. */
export type RequestTurns = {
  readonly onRequest: () => void;
  readonly onAnswer: () => Promise<void> | undefined;
};

export type EngineEnd =
  | { readonly kind: 'done'; readonly head: DoneHead; readonly bytes: Uint8Array }
  /** It was ended, has died, or said what makes no sense: nothing is known of the call but its requests. */
  | { readonly kind: 'gone'; readonly why: string };

export type PrepareEnd =
  | { readonly kind: 'prepared'; readonly form: Form }
  | { readonly kind: 'refused'; readonly refused: ModuleRefusal }
  | { readonly kind: 'gone'; readonly why: string };

/** The longest head that an engine sends, many times over. */
const MOST_HEAD_BYTES = 64 * 1024;
/** What a frame may be long beside its bytes. */
const FRAME_BYTES = MOST_HEAD_BYTES + 64;
/** The fuel of what the gateway handles; the rest an engine does by itself. */
const GATEWAY_FUEL: ReadonlyMap<unknown, number> = new Map(
  ABI_FUNCTIONS.filter(({ handledBy }) => handledBy === 'gateway').map(({ name, fuel }) => [name, fuel]),
);
const NO_TURNS: RequestTurns = { onRequest: () => undefined, onAnswer: () => undefined };

type Running = {
  readonly listeners: CallListeners;
  readonly settle: (end: EngineEnd) => void;
  readonly limits: CallHead['limits'];
  logBytesLeft: number;
  /** Of its questions alone, as the gateway counts them. */
  fuelLeft: number;
  /** A guest waits for its answer, so that the engine has nothing to send meanwhile. */
  isWaiting: boolean;
};

/** One engine process, with at most one call in it. Whatever it does wrong ends it, and costs that one call. */
export class EngineProcess {
  readonly isolation: EngineEnds['isolation'];
  /** Settles when it can be used; false when it never will be. */
  readonly ready: Promise<boolean>;
  /** Settles when nothing of its process is left. */
  readonly ended: Promise<void>;
  readonly #ends: EngineEnds;
  readonly #reader = new FrameReader(FRAME_BYTES, MOST_HEAD_BYTES);
  readonly #known = new Set<string>();
  #running: Running | null = null;
  #onPrepared: ((end: PrepareEnd) => void) | null = null;
  #onReady: (isReady: boolean) => void = () => undefined;
  #isReady = false;
  #isGone = false;
  #why = 'it ended';
  /** Whose calls it runs; null before the first. */
  owner: string | null = null;
  /** When it was started, on the clock of the pool. */
  startedMs = 0;
  /** Lets its guest go on with an answer when it is its turn. */
  turns: RequestTurns = NO_TURNS;
  /** How many calls it has run. */
  calls = 0;
  /** Of all modules that it was given, which it keeps. */
  moduleBytes = 0;

  constructor(ends: EngineEnds) {
    this.#ends = ends;
    this.isolation = ends.isolation;
    this.ended = ends.ended;
    this.ready = new Promise((resolve) => {
      this.#onReady = resolve;
    });
    ends.send.on('error', () => this.end('it does not read what it is sent'));
    ends.receive.on('error', () => this.end('its output cannot be read'));
    ends.receive.on('data', (piece: Buffer) => this.#receive(piece));
    ends.receive.once('close', () => this.end('it ended'));
    void ends.ended.then(() => this.end('it ended'));
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get #isBusy(): boolean {
    return this.#running !== null || this.#onPrepared !== null;
  }

  /** Why it is gone. */
  get why(): string {
    return this.#why;
  }

  /** Has it prepare a module for all engines. Boundary: one that has run a guest could be under the control of that guest. */
  prepare(module: Uint8Array, head: PrepareHead): Promise<PrepareEnd> {
    if (this.#isBusy || this.calls > 0)
      throw new TypeError('Cannot prepare module: the engine has run guests, expected a new one');
    if (this.#isGone) return Promise.resolve({ kind: 'gone', why: this.#why });
    return new Promise((settle) => {
      this.#onPrepared = settle;
      // What it compiles it keeps, as it keeps what it is handed.
      this.moduleBytes += module.length;
      this.#reader.mostBytes = FRAME_BYTES + mostFormBytes(module.length);
      this.#ends.send.write(frameOf('prepare', head, module));
    });
  }

  /** Runs a call to its end; to stop it before, end the engine. */
  run({ module, head, input }: EngineCall, listeners: CallListeners): Promise<EngineEnd> {
    if (this.#isBusy) throw new TypeError('Cannot run call: the engine has one already');
    if (this.#isGone) return Promise.resolve({ kind: 'gone', why: this.#why });
    this.calls += 1;
    return new Promise((settle) => {
      const { limits } = head;
      const [logBytesLeft, fuelLeft] = [limits.logBytes, limits.fuel];
      this.#running = { listeners, settle, limits, logBytesLeft, fuelLeft, isWaiting: false };
      // Boundary: it may send what this call can come to, and nothing that the gateway would only keep.
      this.#reader.mostBytes =
        FRAME_BYTES + Math.max(MOST_REQUEST_BYTES, limits.outputBytes, limits.logBytes);
      if (!this.#known.has(module.key)) this.#hand(module);
      this.#ends.send.write(frameOf('call', head, input));
    });
  }

  /** Ends it at once, with the call that it runs. */
  end(why: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#why = why;
    this.#onReady(false);
    this.#ends.kill();
    this.#ends.send.destroy();
    this.#ends.receive.destroy();
    this.#finish({ kind: 'gone', why });
    this.#finishPreparing({ kind: 'gone', why });
  }

  #hand({ key, form: { bytes, ...head } }: EngineModule): void {
    this.#known.add(key);
    this.moduleBytes += bytes.length;
    this.#ends.send.write(frameOf('module', { key, ...head }, bytes));
  }

  #receive(piece: Buffer): void {
    const frames = this.#reader.read(piece);
    // Boundary: beside the engine runs hostile code; an invalid frame is the end of it.
    if (frames === null) this.end('it sent an invalid frame');
    for (const frame of frames ?? []) this.#take(frame);
  }

  #take(frame: Frame): void {
    const running = this.#running;
    if (frame.kind === 'ready' && !this.#isReady) this.#begin();
    else if (frame.kind === 'prepared' && this.#onPrepared !== null && !this.#isGone) this.#conclude(frame);
    // Boundary: one request at a time, and nothing before its answer, however fast it sends.
    else if (running === null || running.isWaiting || this.#isGone) this.end('it sent a frame out of turn');
    // Boundary: an engine that does not read its answers, and requests more, would fill the memory of the gateway.
    else if (this.#ends.send.writableLength > 0) this.end('it does not read what it is sent');
    else if (frame.kind === 'ask') this.#answer(frame, running);
    else if (frame.kind === 'log') this.#log(frame, running);
    else if (frame.kind === 'done') this.#concludeCall(frame, running);
    else this.end('it sent an invalid frame');
  }

  #begin(): void {
    this.#isReady = true;
    this.#onReady(true);
  }

  #log({ head, bytes }: Frame, running: Running): void {
    running.logBytesLeft -= bytes.length + LOG_LINE_BYTES;
    // Boundary: the engine keeps the quota by itself; one that does not is no longer ours.
    if (running.logBytesLeft < 0) this.end('it sent more log lines than allowed');
    else running.listeners.onLog((head as Partial<LogHead> | null)?.level, bytes);
  }

  #conclude({ head, bytes }: Frame): void {
    const end = readPrepared(head, bytes);
    if (end === null) this.end('it sent an invalid frame');
    else this.#finishPreparing(end);
  }

  #finishPreparing(end: PrepareEnd): void {
    const settle = this.#onPrepared;
    this.#onPrepared = null;
    settle?.(end);
  }

  #concludeCall({ head: raw, bytes }: Frame, { limits }: Running): void {
    const head = readDoneHead(raw, limits);
    // Boundary: no output is longer than the engine would let it be.
    if (head === null || bytes.length > limits.outputBytes) this.end('it sent an invalid frame');
    else this.#finish({ kind: 'done', head, bytes });
  }

  #answer({ head, bytes }: Frame, running: Running): void {
    const fuel = GATEWAY_FUEL.get((head as Partial<RequestHead> | null)?.name);
    // Boundary: the name is written down before it is looked up.
    if (fuel === undefined) {
      this.end('it sent an invalid frame');
      return;
    }
    running.fuelLeft -= fuel;
    // Boundary: a guest's fuel bounds its requests; an engine that makes more is no longer ours.
    if (running.fuelLeft < 0) {
      this.end('it made more requests than its fuel pays for');
      return;
    }
    running.isWaiting = true;
    this.turns.onRequest();
    running.listeners.onRequest({ head: head as RequestHead, bytes }).then(
      (reply) => void this.#reply(reply, running),
      () => this.end('one of its requests failed in the gateway'),
    );
  }

  async #reply({ result, bytes }: HostReply, running: Running): Promise<void> {
    if (this.#running !== running) return;
    await this.turns.onAnswer();
    if (this.#running !== running || this.#isGone) return;
    running.isWaiting = false;
    this.#ends.send.write(frameOf('answer', { result }, bytes));
  }

  #finish(end: EngineEnd): void {
    const running = this.#running;
    this.#running = null;
    running?.settle(end);
  }
}
