import type { FetchLimits } from '../limits.ts';
import { type ByteCounts, type FetchFailed, fail } from './outcome.ts';

/**
 * What can end a fetch at any moment: its caller, its time, its bytes. The first of them that happens is the failure of
 * the fetch and aborts the signal, on which every step stops. After `end` no timer and no listener is left.
 */
export class Watch {
  readonly #caller: AbortSignal;
  readonly #limits: FetchLimits;
  readonly #stop = new AbortController();
  readonly #onAbort = () => this.fail(fail('cancelled', 'Cannot go on: the caller has ended the call'));
  readonly #whole: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  #failure: FetchFailed | null = null;
  #bytes = { bytesIn: 0, bytesOut: 0 };
  readonly #onProgress: (counts: ByteCounts) => void;

  constructor(caller: AbortSignal, limits: FetchLimits, onProgress: (counts: ByteCounts) => void = () => {}) {
    this.#onProgress = onProgress;
    this.#caller = caller;
    this.#limits = limits;
    this.#whole = setTimeout(() => this.fail(late('the end', limits.wholeMs)), limits.wholeMs);
    caller.addEventListener('abort', this.#onAbort, { once: true });
    // A signal that is aborted already gives no event any more.
    if (caller.aborted) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get failure(): FetchFailed | null {
    return this.#failure;
  }

  get counts(): ByteCounts {
    return { ...this.#bytes };
  }

  fail(failure: FetchFailed): void {
    this.#failure ??= failure;
    this.#stop.abort();
  }

  /** Counts bytes; false when they are too many or it has already ended. */
  pass(way: 'bytesIn' | 'bytesOut', bytes: number): boolean {
    if (this.#failure !== null) return false;
    this.#bytes[way] += bytes;
    this.#onProgress(this.counts);
    // Boundary: a target that never stops is stopped here, whatever its bytes mean.
    if (!this.canPass(0)) this.fail(tooMany(this.#limits));
    return this.#failure === null;
  }

  /** Whether this many more bytes are still within the limit. */
  canPass(bytes: number): boolean {
    return this.#bytes.bytesIn + this.#bytes.bytesOut + bytes <= this.#limits.wireBytes;
  }

  /** From here on one side has to send something now and then. */
  startIdle(): void {
    const { idleMs } = this.#limits;
    this.stopIdle();
    this.#idle = setTimeout(() => this.fail(late('the next byte', idleMs)), idleMs);
  }

  touch(): void {
    this.#idle?.refresh();
  }

  stopIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
  }

  end(): void {
    clearTimeout(this.#whole);
    this.stopIdle();
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}

export function tooMany({ wireBytes }: FetchLimits): FetchFailed {
  return fail('too-large', `Cannot go on: the bytes of the fetch are used up, expected at most ${wireBytes}`);
}

function late(what: string, ms: number): FetchFailed {
  return fail('too-slow', `Cannot go on: ${what} did not come in time, expected it within ${ms} ms`);
}
