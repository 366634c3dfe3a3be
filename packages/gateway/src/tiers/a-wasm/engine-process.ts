import type { HeldRun } from '../process/proof.ts';
import type { Denial } from './denials.ts';
import { readDoneHead, readLocated, readPrepared } from './ending.ts';
import { ABI_FUNCTIONS } from './engine/abi.table.ts';
import {
  type CallHead,
  type DoneHead,
  type Frame,
  FrameReader,
  frameOf,
  LOG_LINE_BYTES,
  type LocatedHead,
  type LocateHead,
  type LogHead,
  MOST_REQUEST_BYTES,
  type ModuleRefusal,
  mostFormBytes,
  type PrepareHead,
  type RequestHead,
} from './engine/protocol.ts';
import type { Form } from './modules.ts';

/** A started engine: the pipes to and from it, how it is ended, and its isolation for the receipts of its calls. */
export type EngineEnds = HeldRun;

type EngineModule = { readonly key: string; readonly form: Form };

export type EngineCall = {
  readonly module: EngineModule;
  readonly head: CallHead;
  readonly input: Uint8Array;
};

/** A guest's request as the engine sends it, still unchecked. */
export type GuestRequest = { readonly head: RequestHead; readonly bytes: Uint8Array };
/** What the guest gets, and for the record alone why it was denied. */
export type HostReply = { readonly result: number; readonly bytes?: Uint8Array; readonly denial?: Denial };

export type CallListeners = {
  readonly onRequest: (request: GuestRequest) => Promise<HostReply>;
  /** The level is unchecked: it is what the engine sends. */
  readonly onLog: (level: unknown, text: Uint8Array) => void;
};

/** Called when a guest makes a request and when its answer is ready; the guest gets it once the promise resolves. */
export type RequestTurns = {
  readonly onRequest: () => void;
  readonly onAnswer: () => Promise<void> | undefined;
};

/** It was ended, died, or sent something invalid: nothing is known of the call but its requests. */
type EngineGone = { readonly kind: 'gone'; readonly why: string };

export type EngineEnd =
  | { readonly kind: 'done'; readonly head: DoneHead; readonly bytes: Uint8Array }
  | EngineGone;

export type PrepareEnd =
  | { readonly kind: 'prepared'; readonly form: Form }
  | { readonly kind: 'refused'; readonly refused: ModuleRefusal }
  | EngineGone;

type Lines = LocatedHead['lines'] | null;

/** Many times the longest head that an engine sends. */
const MOST_HEAD_BYTES = 64 * 1024;
const FRAME_BYTES = MOST_HEAD_BYTES + 64;
/** The fuel of the functions that the gateway handles; the engine charges the others itself. */
const GATEWAY_FUEL: ReadonlyMap<unknown, number> = new Map(
  ABI_FUNCTIONS.filter(({ handledBy }) => handledBy === 'gateway').map(({ name, fuel }) => [name, fuel]),
);
const NO_TURNS: RequestTurns = { onRequest: () => undefined, onAnswer: () => undefined };

type Running = {
  readonly listeners: CallListeners;
  readonly settle: (end: EngineEnd) => void;
  readonly limits: CallHead['limits'];
  logBytesLeft: number;
  /** For requests to the gateway only, as the gateway counts them. */
  fuelLeft: number;
  /** The guest is waiting for its answer, so the engine must not send anything. */
  isWaiting: boolean;
};

/** One engine process, with at most one call in it. Any misbehaviour ends it, at the cost of that one call. */
export class EngineProcess {
  readonly isolation: EngineEnds['isolation'];
  /** Resolves to true when it can be used, to false when it never will be. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<void>;
  readonly #ends: EngineEnds;
  readonly #reader = new FrameReader(FRAME_BYTES, MOST_HEAD_BYTES);
  readonly #known = new Set<string>();
  #running: Running | null = null;
  #onPrepared: ((end: PrepareEnd) => void) | null = null;
  #locating: { readonly count: number; readonly settle: (lines: Lines) => void } | null = null;
  #onReady: (isReady: boolean) => void = () => undefined;
  #isReady = false;
  #isGone = false;
  #why = 'it ended';
  /** The tenant whose calls it runs; null before the first. */
  owner: string | null = null;
  /** When it was started, on the clock of the pool. */
  startedMs = 0;
  /** Decides when its guest may continue with an answer. */
  turns: RequestTurns = NO_TURNS;
  calls = 0;
  /** Of all modules that were sent to it, which it keeps. */
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
    return this.#running !== null || this.#onPrepared !== null || this.#locating !== null;
  }

  get why(): string {
    return this.#why;
  }

  /** Prepares a module for all engines. Boundary: an engine that has run a guest could be under its control. */
  prepare(module: Uint8Array, head: PrepareHead): Promise<PrepareEnd> {
    if (this.#isBusy || this.calls > 0)
      throw new TypeError('Cannot prepare module: the engine has run guests, expected a new one');
    if (this.#isGone) return Promise.resolve({ kind: 'gone', why: this.#why });
    return new Promise((settle) => {
      this.#onPrepared = settle;
      // It keeps what it compiles as well as what it is sent.
      this.moduleBytes += module.length;
      this.#reader.mostBytes = FRAME_BYTES + mostFormBytes(module.length);
      this.#ends.send.write(frameOf('prepare', head, module));
    });
  }

  /** Runs a call to its end; to stop the call early, end the engine. */
  run({ module, head, input }: EngineCall, listeners: CallListeners): Promise<EngineEnd> {
    if (this.#isBusy) throw new TypeError('Cannot run call: the engine has one already');
    if (this.#isGone) return Promise.resolve({ kind: 'gone', why: this.#why });
    this.calls += 1;
    return new Promise((settle) => {
      const { limits } = head;
      const [logBytesLeft, fuelLeft] = [limits.logBytes, limits.fuel];
      this.#running = { listeners, settle, limits, logBytesLeft, fuelLeft, isWaiting: false };
      // Boundary: it may send no more than this call can produce, since the gateway would have to keep it.
      this.#reader.mostBytes =
        FRAME_BYTES + Math.max(MOST_REQUEST_BYTES, limits.outputBytes, limits.logBytes);
      if (!this.#known.has(module.key)) this.#hand(module);
      this.#ends.send.write(frameOf('call', head, input));
    });
  }

  /** The lines of places of a trap in a module; null where the engine does not tell them. */
  locate(module: Uint8Array, head: LocateHead): Promise<Lines> {
    if (this.#isBusy) throw new TypeError('Cannot locate trap: the engine has a call');
    if (this.#isGone) return Promise.resolve(null);
    return new Promise((settle) => {
      this.#locating = { count: head.places.length, settle };
      this.#reader.mostBytes = FRAME_BYTES;
      this.#ends.send.write(frameOf('locate', head, module));
    });
  }

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
    this.#finishLocating(null);
  }

  #hand({ key, form: { bytes, ...head } }: EngineModule): void {
    this.#known.add(key);
    this.moduleBytes += bytes.length;
    this.#ends.send.write(frameOf('module', { key, ...head }, bytes));
  }

  #receive(piece: Buffer): void {
    const frames = this.#reader.read(piece);
    // Boundary: hostile code runs beside the engine, so an invalid frame ends it.
    if (frames === null) this.end('it sent an invalid frame');
    for (const frame of frames ?? []) this.#take(frame);
  }

  #take(frame: Frame): void {
    const running = this.#running;
    if (frame.kind === 'ready' && !this.#isReady) this.#begin();
    else if (frame.kind === 'prepared' && this.#onPrepared !== null && !this.#isGone) this.#conclude(frame);
    else if (frame.kind === 'located' && this.#locating !== null && !this.#isGone)
      this.#concludeLocating(frame.head, this.#locating.count);
    // Boundary: one request at a time, and nothing before its answer, however fast the engine sends.
    else if (running === null || running.isWaiting || this.#isGone) this.end('it sent a frame out of turn');
    // Boundary: an engine that keeps requesting without reading its answers would fill the memory of the gateway.
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
    // Boundary: the engine enforces the quota itself; one that exceeds it is compromised.
    if (running.logBytesLeft < 0) this.end('it sent more log lines than allowed');
    else running.listeners.onLog((head as Partial<LogHead> | null)?.level, bytes);
  }

  #conclude({ head, bytes }: Frame): void {
    const end = readPrepared(head, bytes);
    if (end === null) this.end('it sent an invalid frame');
    else this.#finishPreparing(end);
  }

  #concludeLocating(head: unknown, count: number): void {
    const lines = readLocated(head, count);
    if (lines === null) this.end('it sent an invalid frame');
    else this.#finishLocating(lines);
  }

  #finishLocating(lines: Lines): void {
    const locating = this.#locating;
    this.#locating = null;
    locating?.settle(lines);
  }

  #finishPreparing(end: PrepareEnd): void {
    const settle = this.#onPrepared;
    this.#onPrepared = null;
    settle?.(end);
  }

  #concludeCall({ head: raw, bytes }: Frame, { limits }: Running): void {
    const head = readDoneHead(raw, limits);
    // Boundary: no output is longer than the engine permits.
    if (head === null || bytes.length > limits.outputBytes) this.end('it sent an invalid frame');
    else this.#finish({ kind: 'done', head, bytes });
  }

  #answer({ head, bytes }: Frame, running: Running): void {
    const fuel = GATEWAY_FUEL.get((head as Partial<RequestHead> | null)?.name);
    // Boundary: the name is recorded before its handler is looked up, so an unknown one ends here.
    if (fuel === undefined) {
      this.end('it sent an invalid frame');
      return;
    }
    running.fuelLeft -= fuel;
    // Boundary: a guest's fuel bounds its requests; an engine that makes more is compromised.
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
