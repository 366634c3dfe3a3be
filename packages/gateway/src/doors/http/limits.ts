import { TurnedAway } from './problem.ts';

const MINUTE_MS = 60_000;
/** Past it, those that have been quiet for a while are forgotten. */
const MAX_REMEMBERED = 4096;

/**
 * Holds each credential to a number of requests in a minute. Of each it remembers one number: until when what it has
 * asked for fills its share; a credential that fills the coming minute has to wait.
 */
export class RateLimit {
  readonly #stepMs: number;
  readonly #filledUntil = new Map<string, number>();

  constructor(perMinute: number) {
    this.#stepMs = MINUTE_MS / perMinute;
  }

  /** Throws when it is too much, with how long to wait. */
  enter(credential: string, nowMs: number): void {
    const until = Math.max(this.#filledUntil.get(credential) ?? 0, nowMs) + this.#stepMs;
    const overMs = until - nowMs - MINUTE_MS;
    // Boundary: one credential cannot take the time of all others.
    if (overMs > this.#stepMs / 2) throw limited('it asks too often', Math.ceil(overMs / 1000));
    this.#filledUntil.set(credential, until);
    if (this.#filledUntil.size > MAX_REMEMBERED) this.#forget(nowMs);
  }

  #forget(nowMs: number): void {
    for (const [credential, until] of this.#filledUntil)
      if (until <= nowMs) this.#filledUntil.delete(credential);
  }
}

/** Holds each credential to a number of calls that run at the same time. */
export class AtOnce {
  readonly #most: number;
  readonly #running = new Map<string, number>();
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get total(): number {
    return this.#total;
  }

  /** Throws when it would be one too many. */
  enter(credential: string): void {
    const running = this.#running.get(credential) ?? 0;
    // Boundary: one credential cannot take all sandboxes.
    if (running >= this.#most) throw limited(`${running} calls of it are running`, 1);
    this.#running.set(credential, running + 1);
    this.#total += 1;
  }

  leave(credential: string): void {
    const running = (this.#running.get(credential) ?? 0) - 1;
    if (running > 0) this.#running.set(credential, running);
    else this.#running.delete(credential);
    this.#total -= 1;
  }
}

function limited(why: string, afterS: number): TurnedAway {
  return new TurnedAway('door/rate-limited', `Cannot take more of this credential: ${why}`, {
    headers: ['retry-after', String(Math.max(afterS, 1))],
  });
}
