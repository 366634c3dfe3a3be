/** The calls that came in by MCP and have not ended, so that a door that closes can wait until all are recorded. */
export class Calls {
  readonly #open = new Map<string, Set<Promise<unknown>>>();
  readonly #most: number;

  /** `most` is how many calls of one credential may run at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether this credential has as many calls running as it may. */
  isFull(credential: string): boolean {
    return (this.#open.get(credential)?.size ?? 0) >= this.#most;
  }

  /** Counts a call until it has ended. */
  async track<T>(credential: string, call: Promise<T>): Promise<T> {
    const open = this.#open.get(credential) ?? new Set();
    this.#open.set(credential, open);
    open.add(call);
    try {
      return await call;
    } finally {
      open.delete(call);
      if (open.size === 0) this.#open.delete(credential);
    }
  }

  /** Resolves once every call that runs at this moment has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#open.values()].flatMap((open) => [...open]));
  }
}
