import type { Sandbox } from './sandbox.ts';

/** A sandbox together with what it can be used for. */
type Kept = {
  readonly key: string;
  readonly sandbox: Sandbox;
  readonly timer: NodeJS.Timeout;
  isGone: boolean;
};

type WarmOptions = {
  /** How many are kept ready for each key; 0 keeps none. */
  readonly size: number;
  /** A sandbox that is unused for this long is closed. */
  readonly idleMs: number;
};

type Make = (number: number) => Promise<Sandbox | null>;

/** The maximum number of keys with warm sandboxes; the least recently requested is dropped first. */
const MOST_KEYS = 4;

/**
 * Warm sandboxes, so that a command does not wait while its sandbox is built. Each is used once. They see the host as
 * it was when they were made, which is why none is kept for long.
 */
export class WarmSandboxes {
  readonly #options: WarmOptions;
  /** By key, the most recently requested one at the end. */
  readonly #kept = new Map<string, Kept[]>();
  readonly #making = new Map<string, Promise<void>>();
  readonly #closing = new Cleanup(Number.POSITIVE_INFINITY);
  #made = 0;
  #isClosed = false;

  constructor(options: WarmOptions) {
    this.#options = options;
  }

  /** A live sandbox; null where there is none. It belongs to the caller from now on. */
  take(key: string): Sandbox | null {
    const kept = this.#kept.get(key) ?? [];
    for (let each = kept.shift(); each !== undefined; each = kept.shift()) {
      if (!leave(each)) continue;
      return each.sandbox;
    }
    return null;
  }

  /**
   * Makes as many as are missing for this key, one after the other, each with its own number. Not awaited by callers;
   * on failure none is made.
   */
  refill(key: string, make: Make): void {
    if (this.#isClosed || this.#options.size === 0) return;
    const kept = this.#kept.get(key) ?? [];
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    this.#forgetOldest();
    if (this.#making.has(key) || kept.length >= this.#options.size) return;
    const filled = this.#fill(key, make).finally(() => this.#making.delete(key));
    this.#making.set(key, filled);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const key of [...this.#kept.keys()]) this.#forget(key);
    await Promise.all(this.#making.values());
    await this.#closing.finish();
  }

  async #fill(key: string, make: Make): Promise<void> {
    while (!this.#isClosed && this.#isWanted(key)) {
      this.#made += 1;
      const sandbox = await make(this.#made).catch(() => null);
      if (sandbox === null) return;
      if (this.#isClosed || !this.#kept.has(key)) return this.#giveBack(sandbox);
      this.#keep(key, sandbox);
    }
  }

  #isWanted(key: string): boolean {
    const kept = this.#kept.get(key);
    return kept !== undefined && kept.length < this.#options.size;
  }

  #keep(key: string, sandbox: Sandbox): void {
    const drop = () => this.#drop(kept);
    const kept: Kept = { key, sandbox, timer: setTimeout(drop, this.#options.idleMs), isGone: false };
    kept.timer.unref();
    this.#kept.get(key)?.push(kept);
    if (!('error' in sandbox.child)) void sandbox.child.exited.then(drop);
  }

  /** It expired, or has ended by itself. */
  #drop(kept: Kept): void {
    if (!leave(kept)) return;
    const others = this.#kept.get(kept.key)?.filter((each) => each !== kept) ?? [];
    if (others.length > 0) this.#kept.set(kept.key, others);
    else this.#kept.delete(kept.key);
    this.#giveBack(kept.sandbox);
  }

  #forgetOldest(): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEYS && oldest !== undefined) this.#forget(oldest);
  }

  #forget(key: string): void {
    const kept = this.#kept.get(key) ?? [];
    this.#kept.delete(key);
    for (const each of kept) this.#drop(each);
  }

  #giveBack(sandbox: Sandbox): void {
    void this.#closing.add(sandbox.close());
  }
}

/** Whether it was still kept; it is removed either way. */
function leave(kept: Kept): boolean {
  const wasThere = !kept.isGone;
  kept.isGone = true;
  clearTimeout(kept.timer);
  return wasThere;
}

/**
 * Sandboxes that are closed while their result is already on its way: the kernel takes longer to dismantle an empty
 * sandbox than many a command runs. Bounded, so that callers do not get ahead of the kernel.
 */
export class Cleanup {
  readonly #most: number;
  readonly #closing = new Set<Promise<void>>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Resolves at once, or, when there are too many, once enough of them are done. */
  async add(closing: Promise<void>): Promise<void> {
    const done = closing.catch(() => undefined).finally(() => this.#closing.delete(done));
    this.#closing.add(done);
    // Checked again after each one: others may wait here as well, and one that is done frees a single slot.
    while (this.#closing.size > this.#most) await Promise.race(this.#closing);
  }

  async finish(): Promise<void> {
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }
}
