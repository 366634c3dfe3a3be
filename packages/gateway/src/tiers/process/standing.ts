import type { Clock } from '../../core/clock.ts';
import type { Found, Probed } from './probe.ts';
import type { Trial } from './trial.ts';

/** What is missing is looked for again after this long, so that a fix counts without a restart. */
const AGAIN_AFTER_MS = 5_000;

export type StandingParts = {
  readonly clock: Clock;
  readonly probe: () => Promise<Probed>;
  readonly tryTier: (found: Found) => Promise<Trial>;
};

/**
 * Whether a tier can be used: found out at the first call, and tried when a run could not be set up. A tier that holds
 * is asked nothing more; each run proves itself anyway.
 */
export class Standing {
  readonly #parts: StandingParts;
  #looked: Promise<Probed> | null = null;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  #isSettled = false;
  #isDoubted = false;
  #last: Found | null = null;

  constructor(parts: StandingParts) {
    this.#parts = parts;
  }

  /** What the tier is now; a lack comes with its fix. */
  look(): Promise<Probed> {
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#looked !== null && (this.#isSettled || nowMs - this.#lookedAtMs < AGAIN_AFTER_MS))
      return this.#looked;
    this.#lookedAtMs = nowMs;
    this.#looked = this.#find();
    return this.#looked;
  }

  /** The tier as it was found last, for a call that was not refused. */
  get found(): Found {
    if (this.#last === null) throw new TypeError('Cannot use the tier: nobody has looked whether it holds');
    return this.#last;
  }

  /** A run could not be set up: before the next one the tier is tried. */
  doubt(): void {
    // Boundary: commands that fail on purpose make the tier be tried once in a while, not with every call.
    this.#lookedAtMs = this.#triedAtMs;
    this.#isDoubted = true;
    this.#isSettled = false;
  }

  async #find(): Promise<Probed> {
    const found = await this.#parts.probe();
    if (!found.ok) return found;
    if (this.#isDoubted) {
      this.#triedAtMs = this.#lookedAtMs;
      const trial = await this.#parts.tryTier(found);
      if (!trial.ok) return { ok: false, why: trial.why, fix: trial.fix };
    }
    this.#isDoubted = false;
    this.#isSettled = true;
    this.#last = found;
    return found;
  }
}
