/**
 * The engine processes of tier A. A call has an engine to itself, and an engine belongs to one tenant for its whole
 * life: a guest that took over its engine could then only affect later calls of its own tenant. An idle engine is kept
 * for its owner while memory permits, and a long-lived gateway keeps one without an owner ready for the next tenant.
 * engine-turns.ts decides which call is served when.
 */
import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import { type Census, ENDS, EngineCounts, type Metric } from './engine-counts.ts';
import { type EngineEnds, EngineProcess } from './engine-process.ts';
import { EngineTurns } from './engine-turns.ts';

export type PoolOptions = {
  /** Guests that compute at the same time. */
  readonly size: number;
  /** All engines, including idle ones and those whose guests wait for answers; one tenant gets at most half of them. */
  readonly most: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** False where the machine lacks the memory for more engines than compute at the same time. */
  readonly hasMemory: () => boolean;
  readonly start: () => Promise<EngineEnds>;
};

/** An engine is replaced between calls after this many calls, module bytes or milliseconds: nothing in it persists. */
const MOST_CALLS = 100_000;
const MOST_MODULE_BYTES = 128 * 1024 * 1024;
const MOST_AGE_MS = 60 * 60_000;
/** How often an idle engine is checked for whether it is still needed. */
const IDLE_MS = 10 * 60_000;
/** How long a started engine may take to report that it is ready. */
const BEGIN_MS = 20_000;

export class EnginePool {
  readonly #options: PoolOptions;
  readonly #turns: EngineTurns;
  readonly #idle: IdleEngines;
  readonly #counts = new EngineCounts();
  /** Every engine whose process still exists. */
  readonly #all = new Set<EngineProcess>();
  readonly #starting = new Set<Promise<void>>();
  #keepsSpare = false;
  #didStartFail = false;
  #isClosed = false;

  constructor(options: PoolOptions) {
    const { size, most, clock } = options;
    this.#options = options;
    this.#idle = new IdleEngines((engine) => this.#mayStay(engine));
    this.#turns = new EngineTurns({
      ...{ size, mostOfOne: Math.max(size, Math.floor(most / 2)), clock },
      takeIdle: (owner) => this.#takeIdle(owner),
      hasIdle: (owner) => this.#idle.all.some((engine) => engine.owner === owner),
      onCall: (waitedMs) => this.#counts.onCall(waitedMs),
      onChange: () => this.#dispatch(),
    });
  }

  get census(): Census {
    const { size, most } = this.#options;
    const { started, endedInAll: ended } = this.#counts;
    const [idle, starting] = [this.#idle.all.length, this.#starting.size];
    return { size, most, idle, starting, ...this.#turns.census, started, ended };
  }

  metrics(): readonly Metric[] {
    return this.#counts.metrics(this.census);
  }

  /** Starts as many engines as may compute, and from then on keeps a spare for the next tenant; need not be awaited. */
  async warm(): Promise<void> {
    this.#keepsSpare = true;
    for (let missing = this.#options.size - this.#alive; missing > 0; missing -= 1) this.#start();
    await Promise.all(this.#starting);
  }

  /** An engine for one call of this owner; it must be released however the call ends. The signal ends the wait. */
  async take(owner: string, signal?: AbortSignal): Promise<EngineProcess> {
    if (this.#isClosed) throw isClosing();
    return this.#turns.wait(owner, signal);
  }

  /** Does this in an engine of the owner, which the signal ends; the engine is given back however it ends. */
  async use<T>(owner: string, signal: AbortSignal, act: (engine: EngineProcess) => Promise<T>): Promise<T> {
    const engine = await this.take(owner, signal);
    const onAbort = () => engine.end(ENDS.stopped);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await act(engine);
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.giveBack(engine);
    }
  }

  giveBack(engine: EngineProcess): void {
    if (!this.#turns.release(engine)) return;
    // Nothing ran in it, so it can serve any tenant.
    if (engine.calls === 0) engine.owner = null;
    if (this.#isWorn(engine)) engine.end(ENDS.retired);
    if (!engine.isGone) this.#idle.keep(engine);
    this.#dispatch();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#turns.refuseAll(isClosing());
    for (const engine of this.#all) engine.end(ENDS.closing);
    await Promise.all(this.#starting);
    await Promise.all([...this.#all].map((engine) => engine.ended));
  }

  /** Engines that are usable or starting. */
  get #alive(): number {
    return this.#turns.census.busy + this.#idle.all.length + this.#starting.size;
  }

  #dispatch(): void {
    if (this.#isClosed) return;
    this.#turns.serve();
    while (this.#isOneMissing() && this.#hasRoom()) this.#start();
  }

  #isOneMissing(): boolean {
    if (this.#starting.size >= this.#options.size) return false;
    // A failed start is not repeated while no call waits for it.
    const spare = this.#keepsSpare && !this.#didStartFail ? 1 : 0;
    return (
      Math.max(this.#turns.wanted(), spare) >
      this.#starting.size + this.#idle.all.filter(({ owner }) => owner === null).length
    );
  }

  /** Whether one more may be started, if need be by replacing an idle one. */
  #hasRoom(): boolean {
    const { size, most, hasMemory } = this.#options;
    const alive = this.#alive;
    if (alive < size || (alive < most && hasMemory())) return true;
    // While memory is short, no engine is ended for one that no call waits for.
    if (alive < most && this.#turns.wanted() === 0) return false;
    const longest = this.#idle.longest((owner) => this.#turns.hasCallsOf(owner));
    // Boundary: what a guest of one tenant may have left in an engine must not reach the calls of another.
    if (longest !== null) this.#end(longest, ENDS.evicted);
    return longest !== null;
  }

  #takeIdle(owner: string): EngineProcess | null {
    for (;;) {
      const engine = this.#idle.take(owner);
      if (engine !== null && this.#isWorn(engine)) engine.end(ENDS.retired);
      if (engine === null || !engine.isGone) return engine;
    }
  }

  #isWorn({ calls, moduleBytes, startedMs }: EngineProcess): boolean {
    const ageMs = this.#options.clock.monotonicMs() - startedMs;
    return ageMs >= MOST_AGE_MS || calls >= MOST_CALLS || moduleBytes > MOST_MODULE_BYTES;
  }

  /** Beyond the engines that can compute at the same time, only the spare is kept for long. */
  #mayStay(engine: EngineProcess): boolean {
    const isNeeded = engine.owner === null || this.#idle.all.length <= this.#options.size;
    if (isNeeded && !this.#isWorn(engine)) return true;
    this.#end(engine, ENDS.retired);
    this.#dispatch();
    return false;
  }

  #end(engine: EngineProcess, why: string): void {
    this.#idle.drop(engine);
    engine.end(why);
  }

  #start(): void {
    const starting = this.#begin().then(
      (engine) => {
        this.#starting.delete(starting);
        this.#didStartFail = false;
        if (!engine.isGone) this.#idle.keep(engine);
        this.#dispatch();
      },
      (error: unknown) => {
        this.#starting.delete(starting);
        this.#didStartFail = true;
        this.#counts.failedStarts += 1;
        // Each failed start is reported to one call, so that none waits forever.
        this.#turns.refuseFirst(startFailure(error));
        this.#dispatch();
      },
    );
    this.#starting.add(starting);
  }

  async #begin(): Promise<EngineProcess> {
    const engine = new EngineProcess(await this.#options.start());
    engine.startedMs = this.#options.clock.monotonicMs();
    engine.turns = this.#turns.requestTurns(engine);
    this.#counts.started += 1;
    this.#all.add(engine);
    void engine.ended.then(() => this.#onEnded(engine));
    // The pool was closed while this engine was starting.
    if (this.#isClosed) engine.end(ENDS.closing);
    const late = setTimeout(() => engine.end('it did not report that it is ready'), BEGIN_MS);
    if (await engine.ready.finally(() => clearTimeout(late))) return engine;
    throw new Error(`${engine.why}, expected it to begin`);
  }

  #onEnded(engine: EngineProcess): void {
    this.#all.delete(engine);
    this.#counts.onEnd(engine.why);
    // An engine that died while idle is replaced if it is needed.
    if (this.#idle.drop(engine)) this.#dispatch();
  }
}

function isClosing(): CodedError {
  return new CodedError('tier/not-started', 'Cannot run module: the gateway is closing');
}

/** Idle engines, the one that has been idle longest first. */
class IdleEngines {
  readonly #mayStay: (engine: EngineProcess) => boolean;
  readonly #timers = new Map<EngineProcess, NodeJS.Timeout>();

  /** `mayStay` is asked repeatedly while an engine is idle; one that may not stay is ended. */
  constructor(mayStay: (engine: EngineProcess) => boolean) {
    this.#mayStay = mayStay;
  }

  get all(): readonly EngineProcess[] {
    return [...this.#timers.keys()];
  }

  keep(engine: EngineProcess): void {
    const look = () => {
      if (!this.#mayStay(engine)) this.drop(engine);
    };
    // This timer does not keep the process alive.
    this.#timers.set(engine, setInterval(look, IDLE_MS).unref());
  }

  /** The most recently used engine of this owner, or one in which nothing ran; null where there is neither. */
  take(owner: string): EngineProcess | null {
    const { all } = this;
    const found =
      all.findLast((engine) => engine.owner === owner) ?? all.find((engine) => engine.owner === null);
    if (found !== undefined) this.drop(found);
    return found ?? null;
  }

  /** The engine to end when there are too many: the longest idle one, preferably of an owner without a waiting call. */
  longest(isWaitedFor: (owner: string) => boolean): EngineProcess | null {
    const owned = this.all.filter(({ owner }) => owner !== null);
    return owned.find(({ owner }) => !isWaitedFor(owner ?? '')) ?? owned[0] ?? null;
  }

  drop(engine: EngineProcess): boolean {
    clearInterval(this.#timers.get(engine));
    return this.#timers.delete(engine);
  }
}

const REMEDY = 'Run `palisade doctor`: the row of tier A shows why no engine process starts, and what to do.';

/** The error of a call for which no engine could be started: always a code of the table, with a remedy. */
function startFailure(error: unknown): CodedError {
  if (error instanceof CodedError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new CodedError('tier/not-started', `Cannot start engine process: ${why}`, {
    remedy: REMEDY,
    cause: error,
  });
}
