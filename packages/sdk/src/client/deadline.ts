/** Ends a request when nothing was heard for too long, or when its user wants it to end. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | null;
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isLate = false;

  /** With 0 it never is too late. */
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

  /** Lets go of the timer and of the signal; nothing is aborted any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#stop);
  }

  readonly #stop = (): void => {
    clearTimeout(this.#timer);
    this.#controller.abort(this.#outer?.reason);
  };
}
