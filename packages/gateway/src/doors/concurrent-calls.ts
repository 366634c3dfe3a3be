/**
 * The calls that came in by a door and have not ended: so many of one credential at once, and a door that closes can
 * wait until all are recorded.
 */
export class ConcurrentCalls {
  readonly #most: number;
  readonly #running = new Map<string, Set<Promise<unknown>>>();

  /** `most` is how many calls of one credential may run at once. */
  constructor(most: number) {
    this.#most = most;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Boundary: one credential cannot take all sandboxes. */
  isFull(credential: string): boolean {
    return (this.#running.get(credential)?.size ?? 0) >= this.#most;
  }

  /** Counts a call until it has ended. */
  async track<T>(credential: string, call: Promise<T>): Promise<T> {
    const running = this.#running.get(credential) ?? new Set();
    this.#running.set(credential, running);
    running.add(call);
    try {
      return await call;
    } finally {
      running.delete(call);
      if (running.size === 0) this.#running.delete(credential);
    }
  }

  /** Resolves once every call that runs at this moment has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#running.values()].flatMap((running) => [...running]));
  }
}
