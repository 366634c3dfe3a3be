export type CacheBounds = {
  readonly entries: number;
  readonly bytes: number;
};

type Kept<T> = { readonly value: T; readonly bytes: number };

/**
 * Values by key, the ones used longest ago forgotten first, never more than the bounds. Who asks for a key that is
 * being made waits for the same making; a making that failed is not remembered.
 */
export class Cache<T> {
  readonly #bounds: CacheBounds;
  readonly #measure: (value: T) => number;
  // A map keeps the order in which keys were set: the first is the one used longest ago.
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
      // The turn that is given up here lets `get` register this promise before it can end.
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
