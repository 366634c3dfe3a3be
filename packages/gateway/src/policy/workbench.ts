import { type Cedar, type CedarLoader, isCrash } from './cedar.ts';

export type BenchResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly crashed: boolean; readonly message: string };

/**
 * A Cedar instance for texts that are not trusted yet. It decides nothing; whatever a text does to it ends with it,
 * because an instance that threw is never used again.
 */
export class Workbench {
  readonly #load: CedarLoader;
  #cedar: Cedar | null = null;

  constructor(load: CedarLoader) {
    this.#load = load;
  }

  /** Does the work and tells how it ended; never throws. */
  try<T>(work: (cedar: Cedar) => T): BenchResult<T> {
    try {
      this.#cedar ??= this.#load();
      return { ok: true, value: work(this.#cedar) };
    } catch (error) {
      // Boundary: also an error that seems harmless may have left the instance half way.
      this.#cedar = null;
      return { ok: false, crashed: isCrash(error), message: String(error) };
    }
  }

  /** Frees the instance; the next work loads another. */
  clear(): void {
    this.#cedar = null;
  }
}
