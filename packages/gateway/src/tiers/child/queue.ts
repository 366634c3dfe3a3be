import type { Clock } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';

type QueueTerms = {
  readonly signal: AbortSignal;
  /** The time of the monotonic clock after which waiting for a slot is pointless. */
  readonly deadlineMs: number;
};

/** A longer timer would fire immediately. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Limits how many tasks run at the same time: more launches than cores only slow each other down. The others wait in
 * order of arrival; none overtakes another, and one that is cancelled or too late leaves without having started.
 */
export class LaunchQueue {
  readonly #clock: Clock;
  /** In order of arrival; calling one admits it. */
  readonly #waiting = new Set<() => void>();
  /** Above zero only while no task waits. */
  #free: number;

  constructor({ width, clock }: { readonly width: number; readonly clock: Clock }) {
    if (!Number.isSafeInteger(width) || width < 1) {
      throw new RangeError(`Cannot create queue: its width is ${width}, expected a whole number from 1`);
    }
    this.#free = width;
    this.#clock = clock;
  }

  /** Runs the task once a slot is free; the slot is released when the task says so, or has settled. */
  async run<T>(work: (leave: () => void) => Promise<T>, { signal, deadlineMs }: QueueTerms): Promise<T> {
    if (signal.aborted) throw cancelled();
    const leftMs = deadlineMs - this.#clock.monotonicMs();
    // Boundary: a deadline that is not a number must not mean waiting forever.
    if (!(leftMs > 0)) throw tooLate();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal, leftMs);
    let isInside = true;
    const leave = () => {
      if (isInside) this.#leave();
      isInside = false;
    };
    try {
      return await work(leave);
    } finally {
      leave();
    }
  }

  #wait(signal: AbortSignal, leftMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        this.#waiting.delete(enter);
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const enter = () => {
        stopWaiting();
        resolve();
      };
      const giveUp = (why: CodedError) => {
        stopWaiting();
        reject(why);
      };
      const onAbort = () => giveUp(cancelled());
      const timer = setTimeout(() => giveUp(tooLate()), Math.min(leftMs, MAX_TIMER_MS));
      signal.addEventListener('abort', onAbort);
      this.#waiting.add(enter);
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else next();
  }
}

function cancelled(): CodedError {
  return new CodedError('tier/cancelled', 'Cannot start command: the caller cancelled it while it waited');
}

function tooLate(): CodedError {
  return new CodedError(
    'tier/timed-out',
    'Cannot start command: too many commands run at once, and none ended before its deadline',
    { remedy: 'Call again later, or with a larger limit `wall_ms`: 64 commands run at once.' },
  );
}
