export type CacheBounds = {
  readonly entries: number;
  readonly bytes: number;
};

type Entry<T> = { readonly value: T; readonly bytes: number };

/**
 * Values by key, a bounded LRU cache. A request for a value that is being created waits for the same promise; a failure
 * is not cached.
 */
export class Cache<T> {
  readonly #bounds: CacheBounds;
  readonly #measure: (value: T) => number;
  // A map keeps the order in which keys were set: the first is the least recently used.
  readonly #entries = new Map<string, Entry<T>>();
  readonly #pending = new Map<string, Promise<T>>();
  #bytes = 0;

  constructor(bounds: CacheBounds, measure: (value: T) => number) {
    this.#bounds = bounds;
    this.#measure = measure;
  }

  get(key: string, make: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      return Promise.resolve(entry.value);
    }
    const inProgress = this.#pending.get(key);
    if (inProgress !== undefined) return inProgress;
    const pending = this.#make(key, make);
    this.#pending.set(key, pending);
    return pending;
  }

  async #make(key: string, make: () => Promise<T>): Promise<T> {
    try {
      // Yielding here lets `get` register this promise before it can end.
      await null;
      const value = await make();
      this.#keep(key, value);
      return value;
    } finally {
      this.#pending.delete(key);
    }
  }

  #keep(key: string, value: T): void {
    const bytes = this.#measure(value);
    if (bytes > this.#bounds.bytes || this.#bounds.entries === 0) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= this.#bounds.entries && this.#bytes <= this.#bounds.bytes) return;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }
}
