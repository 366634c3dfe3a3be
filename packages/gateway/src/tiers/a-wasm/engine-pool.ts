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

type Waiting = {
  readonly owner: string;
  /** How many who came later were served before it. */
  passed: number;
  readonly take: (engine: EngineProcess) => void;
  readonly give: (error: unknown) => void;
};

/** An engine is replaced after so many calls and bytes of modules, so that nothing that it gathers lasts. */
const MOST_CALLS = 100_000;
const MOST_MODULE_BYTES = 128 * 1024 * 1024;
const OF_ANOTHER = 'it is of another tenant';
/** For an engine that was started to say so. */
const BEGIN_MS = 20_000;
/** Calls that wait for an engine at once. */
const MOST_WAITING = 4_096;
/** So many may overtake the one who waits longest: a new engine costs about what that many calls in an old one do. */
const MOST_PASSED = 32;

/**
 * Engines that stand ready. A call has one for itself; one that has died is replaced when the next call needs it. An
 * engine has one owner for all of its life: a guest that took one over would sit beside every later call in it, so those
 * are of its own tenant. Who waits is served in the order of coming, but for this: the next call of an engine's own
 * tenant is served before some others, since each of those costs a new engine.
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
    const started = Array.from({ length: Math.max(0, missing) }, () => this.#start(null).catch(() => null));
    for (const engine of await Promise.all(started)) if (engine !== null) this.#giveBack(engine);
  }

  /** An engine for one call of this owner; it is to be given back, whatever became of it. */
  take(owner: string): Promise<EngineProcess> {
    if (this.#isClosed) throw new CodedError('tier/not-started', 'Cannot run module: the gateway is closing');
    const engine = this.#takeIdle(owner);
    if (engine !== null) {
      this.#busy += 1;
      return Promise.resolve(engine);
    }
    if (this.#busy < this.#options.size) return this.#start(owner);
    // Boundary: who comes when thousands wait is told so, and holds nothing.
    if (this.#waiting.length >= MOST_WAITING)
      throw new CodedError('tier/not-started', `Cannot run module: ${MOST_WAITING} calls wait for an engine`);
    return new Promise((take, give) => this.#waiting.push({ owner, passed: 0, take, give }));
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
    // Who ran nothing in it has left nothing in it.
    if (engine.calls === 0) engine.owner = null;
    if (this.#isClosed) engine.end('the gateway is closing');
    if (engine.isGone) {
      this.#startForNext();
      return;
    }
    const next = this.#nextFor(engine);
    if (next === null) {
      if (this.#waiting.length === 0) this.#idle.push(engine);
      else {
        engine.end(OF_ANOTHER);
        this.#startForNext();
      }
      return;
    }
    this.#busy += 1;
    engine.owner = next.owner;
    next.take(engine);
  }

  /** The first of those who wait that this engine is for; null where there is none, or somebody was passed too often. */
  #nextFor(engine: EngineProcess): Waiting | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const index = this.#waiting.findIndex(({ owner }) => isFor(engine, owner));
    // Boundary: a tenant that calls and calls does not keep the others waiting for good.
    if (index < 0 || (index > 0 && first.passed >= MOST_PASSED)) return null;
    if (index > 0) first.passed += 1;
    return this.#waiting.splice(index, 1)[0] ?? null;
  }

  /** One that stands ready for this owner; where all are of others and there is room for no more, the oldest goes. */
  #takeIdle(owner: string): EngineProcess | null {
    const alive = this.#idle.filter(({ isGone }) => !isGone);
    const found = alive.findLast((each) => each.owner === owner) ?? alive.find((each) => each.owner === null);
    const isFull = alive.length + this.#busy >= this.#options.size;
    const oldest = found === undefined && isFull ? alive[0] : undefined;
    // Boundary: what a guest of one tenant may have left in an engine is not there for the calls of another.
    oldest?.end(OF_ANOTHER);
    this.#idle.splice(
      0,
      Number.POSITIVE_INFINITY,
      ...alive.filter((each) => each !== found && each !== oldest),
    );
    if (found === undefined) return null;
    found.owner = owner;
    return found;
  }

  #startForNext(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) this.#start(next.owner).then(next.take, next.give);
  }

  #start(owner: string | null): Promise<EngineProcess> {
    const starting = this.#begin(owner);
    this.#starting.add(starting);
    return starting.finally(() => this.#starting.delete(starting));
  }

  async #begin(owner: string | null): Promise<EngineProcess> {
    this.#busy += 1;
    try {
      const engine = new EngineProcess(await this.#options.start());
      engine.owner = owner;
      this.#all.add(engine);
      void engine.ended.then(() => this.#all.delete(engine));
      // It was closed while this one was on its way.
      if (this.#isClosed) engine.end('the gateway is closing');
      const late = setTimeout(() => engine.end('it does not begin'), BEGIN_MS);
      if (await engine.ready.finally(() => clearTimeout(late))) return engine;
      throw new CodedError('tier/not-started', 'Cannot run module: the engine process did not begin');
    } catch (error) {
      this.#busy -= 1;
      // Whoever waits has no engine that would be given back to it.
      this.#startForNext();
      throw error;
    }
  }
}

function isFor(engine: EngineProcess, owner: string): boolean {
  return engine.owner === null || engine.owner === owner;
}
