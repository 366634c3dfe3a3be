import type { EngineProcess } from './engine-process.ts';

export type IdleOptions = {
  /** How long one stands before it is asked whether it may stay. */
  readonly lookMs: number;
  /** Asked again and again while it stands; one that may not is to be ended. */
  readonly mayStay: (engine: EngineProcess) => boolean;
};

/** Engines that no call is in, the one that stands longest first. */
export class IdleEngines {
  readonly #options: IdleOptions;
  readonly #timers = new Map<EngineProcess, NodeJS.Timeout>();

  constructor(options: IdleOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#timers.size;
  }

  /** Those in which nothing ran yet. */
  get unowned(): number {
    let sum = 0;
    for (const { owner } of this.#timers.keys()) if (owner === null) sum += 1;
    return sum;
  }

  hasOf(owner: string): boolean {
    for (const engine of this.#timers.keys()) if (engine.owner === owner) return true;
    return false;
  }

  keep(engine: EngineProcess): void {
    const look = () => {
      if (!this.#options.mayStay(engine)) this.drop(engine);
    };
    // It keeps nobody's process alive.
    this.#timers.set(engine, setInterval(look, this.#options.lookMs).unref());
  }

  /** The one of this owner that was used last, or one in which nothing ran; null where there is neither. */
  take(owner: string): EngineProcess | null {
    let found: EngineProcess | null = null;
    for (const engine of this.#timers.keys()) {
      if (engine.owner === owner || (engine.owner === null && found === null)) found = engine;
    }
    if (found !== null) this.drop(found);
    return found;
  }

  /** The one to go when there is no room: of those that nobody waits for, if there are such, the one that stands longest. */
  longest(isWaitedFor: (owner: string) => boolean): EngineProcess | null {
    let first: EngineProcess | null = null;
    for (const engine of this.#timers.keys()) {
      if (engine.owner === null) continue;
      if (!isWaitedFor(engine.owner)) return engine;
      first ??= engine;
    }
    return first;
  }

  drop(engine: EngineProcess): boolean {
    clearInterval(this.#timers.get(engine));
    return this.#timers.delete(engine);
  }
}
