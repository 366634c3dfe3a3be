export type CacheBounds = {
  readonly entries: number;
  readonly bytes: number;
};

type Kept<T> = { readonly value: T; readonly bytes: number };

/**
 * Values by key, a bounded LRU cache. A request for a value that is being created waits for the same promise; a failure
 * is not cached.
 */
export class Cache<T> {
  readonly #bounds: CacheBounds;
  readonly #measure: (value: T) => number;
  // A map keeps the order in which keys were set: the first is the least recently used.
  readonly #kept = new Map<string, Kept<T>>();
  readonly #making = new Map<string, Promise<T>>();
  #bytes = 0;

  constructor(bounds: CacheBounds, measure: (value: T) => number) {
    this.#bounds = bounds;
    this.#measure = measure;
  }

  get(key: string, make: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return Promise.resolve(kept.value);
    }
    const underway = this.#making.get(key);
    if (underway !== undefined) return underway;
    const making = this.#make(key, make);
    this.#making.set(key, making);
    return making;
  }

  async #make(key: string, make: () => Promise<T>): Promise<T> {
    try {
      // Yielding here lets `get` register this promise before it can end.
      await null;
      const value = await make();
      this.#keep(key, value);
      return value;
    } finally {
      this.#making.delete(key);
    }
  }

  #keep(key: string, value: T): void {
    const bytes = this.#measure(value);
    if (bytes > this.#bounds.bytes || this.#bounds.entries === 0) return;
    this.#kept.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#kept) {
      if (this.#kept.size <= this.#bounds.entries && this.#bytes <= this.#bounds.bytes) return;
      this.#kept.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }
}
