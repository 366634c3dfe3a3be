/** Ends a request when it was silent for too long, or when its caller aborts it. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | null;
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLate = false;

  /** With 0 there is no deadline. */
  constructor(idleMs: number, outer: AbortSignal | null) {
    this.#idleMs = idleMs;
    this.#outer = outer;
    if (outer?.aborted) this.#stop();
    else outer?.addEventListener('abort', this.#stop);
    this.touch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True once the time was up before anything else ended the request. */
  get isLate(): boolean {
    return this.#isLate;
  }

  get idleMs(): number {
    return this.#idleMs;
  }

  /** Something was received: the timeout starts again. */
  touch(): void {
    clearTimeout(this.#timer);
    if (this.#idleMs === 0 || this.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#controller.abort();
    }, this.#idleMs);
  }

  /** Releases the timer and the signal; nothing is aborted any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#stop);
  }

  readonly #stop = (): void => {
    clearTimeout(this.#timer);
    this.#controller.abort(this.#outer?.reason);
  };
}
