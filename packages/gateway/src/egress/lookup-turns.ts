import type { Lookup } from './look-up.ts';

/**
 * Lets runs take turns at a lookup that nobody can take back: the system has a few threads for all of them, which also
 * read files. Each run has one question under way and the others wait, also behind those of other runs; who has given up
 * meanwhile is not asked for.
 */
export class LookupTurns {
  readonly #lookup: Lookup;
  readonly #atOnce: number;
  /** By run, the questions that wait; the run whose turn it is comes first. */
  readonly #waiting = new Map<object, (() => Promise<void>)[]>();
  readonly #asking = new Set<object>();

  constructor(lookup: Lookup, atOnce: number) {
    this.#lookup = lookup;
    this.#atOnce = atOnce;
  }

  /** The lookup of one run. */
  forRun(): Lookup {
    const run = {};
    return (name, signal) =>
      new Promise((resolve, reject) => {
        const ask = async () => {
          // Boundary: a run that is over, or no longer waits, takes no thread.
          if (signal.aborted) reject(signal.reason);
          else await this.#lookup(name, signal).then(resolve, reject);
        };
        const others = this.#waiting.get(run) ?? [];
        others.push(ask);
        this.#waiting.set(run, others);
        this.#next();
      });
  }

  #next(): void {
    for (const [run, questions] of this.#waiting) {
      if (this.#asking.size >= this.#atOnce) return;
      if (this.#asking.has(run)) continue;
      const ask = questions.shift();
      if (questions.length === 0) this.#waiting.delete(run);
      if (ask !== undefined) this.#begin(run, ask);
    }
  }

  #begin(run: object, ask: () => Promise<void>): void {
    this.#asking.add(run);
    void ask().finally(() => {
      this.#asking.delete(run);
      // It has had its turn, and goes behind the others.
      const rest = this.#waiting.get(run);
      this.#waiting.delete(run);
      if (rest !== undefined) this.#waiting.set(run, rest);
      this.#next();
    });
  }
}
