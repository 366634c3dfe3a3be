import { CodedError } from '../../core/coded-error.ts';
import { type EngineEnds, EngineProcess } from './engine-process.ts';

export type PoolOptions = {
  /** Engines at once. */
  readonly size: number;
  readonly start: () => Promise<EngineEnds>;
};

export type Census = {
  /** The most that there are. */
  readonly size: number;
  readonly idle: number;
  readonly busy: number;
  /** Calls that wait for one. */
  readonly waiting: number;
};

type Waiting = { readonly take: (engine: EngineProcess) => void; readonly give: (error: unknown) => void };

/** An engine is replaced after so many calls and bytes of modules, so that nothing that it gathers lasts. */
const MOST_CALLS = 100_000;
const MOST_MODULE_BYTES = 128 * 1024 * 1024;
/** Calls that wait for an engine at once. */
const MOST_WAITING = 4_096;

/**
 * Engines that stand ready. A call has one for itself; one that has died is replaced when the next call needs it. Who
 * waits is served in the order of coming.
 */
export class EnginePool {
  readonly #options: PoolOptions;
  readonly #idle: EngineProcess[] = [];
  readonly #waiting: Waiting[] = [];
  /** Every engine whose process is still there. */
  readonly #all = new Set<EngineProcess>();
  readonly #starting = new Set<Promise<EngineProcess>>();
  /** Those that run or are being started. */
  #busy = 0;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** How many there are, for people to look at. */
  get census(): Census {
    const { size } = this.#options;
    return { size, idle: this.#idle.length, busy: this.#busy, waiting: this.#waiting.length };
  }

  /** Starts all of them; nobody has to wait for it. */
  async warm(): Promise<void> {
    const missing = this.#options.size - this.#idle.length - this.#busy;
    const started = Array.from({ length: Math.max(0, missing) }, () => this.#start().catch(() => null));
    for (const engine of await Promise.all(started)) if (engine !== null) this.#giveBack(engine);
  }

  /** An engine for one call; it is to be given back, whatever became of it. */
  take(): Promise<EngineProcess> {
    if (this.#isClosed) throw new CodedError('tier/not-started', 'Cannot run module: the gateway is closing');
    for (let engine = this.#idle.pop(); engine !== undefined; engine = this.#idle.pop()) {
      if (engine.isGone) continue;
      this.#busy += 1;
      return Promise.resolve(engine);
    }
    if (this.#busy < this.#options.size) return this.#start();
    // Boundary: who comes when thousands wait is told so, and holds nothing.
    if (this.#waiting.length >= MOST_WAITING)
      throw new CodedError('tier/not-started', `Cannot run module: ${MOST_WAITING} calls wait for an engine`);
    return new Promise((take, give) => this.#waiting.push({ take, give }));
  }

  giveBack(engine: EngineProcess): void {
    if (engine.calls >= MOST_CALLS || engine.moduleBytes > MOST_MODULE_BYTES) engine.end('it has run enough');
    this.#giveBack(engine);
  }

  /** Ends all of them, also those that run. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { give } of this.#waiting.splice(0))
      give(new CodedError('tier/not-started', 'Cannot run module: the gateway is closing'));
    for (const engine of this.#all) engine.end('the gateway is closing');
    await Promise.allSettled(this.#starting);
    await Promise.all([...this.#all].map((engine) => engine.ended));
  }

  #giveBack(engine: EngineProcess): void {
    this.#busy -= 1;
    if (this.#isClosed) engine.end('the gateway is closing');
    if (engine.isGone) {
      this.#startForNext();
      return;
    }
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#idle.push(engine);
      return;
    }
    this.#busy += 1;
    next.take(engine);
  }

  #startForNext(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#start().then(next.take, next.give);
  }

  #start(): Promise<EngineProcess> {
    const starting = this.#begin();
    this.#starting.add(starting);
    return starting.finally(() => this.#starting.delete(starting));
  }

  async #begin(): Promise<EngineProcess> {
    this.#busy += 1;
    try {
      const engine = new EngineProcess(await this.#options.start());
      this.#all.add(engine);
      void engine.ended.then(() => this.#all.delete(engine));
      // It was closed while this one was on its way.
      if (this.#isClosed) engine.end('the gateway is closing');
      if (await engine.ready) return engine;
      throw new CodedError('tier/not-started', 'Cannot run module: the engine process did not begin');
    } catch (error) {
      this.#busy -= 1;
      // Whoever waits has no engine that would be given back to it.
      this.#startForNext();
      throw error;
    }
  }
}
