import type { OpenCall } from './open-call.ts';

/** How long a question stays open. */
export const LONGEST_QUESTION_MS = 10 * 60_000;
/** Calls that wait for an answer at once; at the limit, the one that has waited longest is cancelled. */
const MOST_WAITING = 1_000;

type Kept = {
  readonly open: OpenCall;
  readonly connection: string | null;
  readonly stopTimer: () => void;
  readonly onTaken: () => void;
};

/** The calls that wait for an answer of the person at a client. Each is cancelled when no answer came in time. */
export class OpenCalls {
  readonly #kept = new Map<string, Kept>();

  /** Keeps a call until it is taken; the promise settles when it is taken or has ended. */
  keep(open: OpenCall, connection: string | null, forMs: number): Promise<void> {
    const [oldest] = this.#kept.keys();
    // Boundary: a client that never answers does not hold calls without end.
    if (this.#kept.size >= MOST_WAITING && oldest !== undefined) this.#drop(oldest, 'too many calls wait');
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#drop(open.call.id, 'no one answered in time'), forMs);
      timer.unref();
      const stopTimer = () => clearTimeout(timer);
      this.#kept.set(open.call.id, { open, connection, stopTimer, onTaken: resolve });
      // Its ending is kept for the client until the question would have expired.
      void open.ended.then(() => resolve());
    });
  }

  /** The call that waits under this id, no longer kept; null where there is none. */
  take(callId: string): OpenCall | null {
    const kept = this.#remove(callId);
    kept?.onTaken();
    return kept?.open ?? null;
  }

  /** Cancels what waits for a connection that is gone; without one, everything. */
  end(connection?: string): void {
    for (const [callId, kept] of this.#kept)
      if (connection === undefined || kept.connection === connection)
        this.#drop(callId, 'the client is gone');
  }

  #drop(callId: string, reason: string): void {
    this.#remove(callId)?.open.cancel(reason);
  }

  #remove(callId: string): Kept | null {
    const kept = this.#kept.get(callId) ?? null;
    this.#kept.delete(callId);
    kept?.stopTimer();
    return kept;
  }
}
