/**
 * What is being let go while its result is on its way already: an empty sandbox takes the kernel longer to take down
 * than many a command runs. Only so many at once, so that nobody gets ahead of the kernel.
 */
export class Closings {
  readonly #most: number;
  readonly #closing = new Set<Promise<void>>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Resolves at once, or where there are too many when enough of them are done. */
  async add(closing: Promise<void>): Promise<void> {
    const done = closing.catch(() => undefined).finally(() => this.#closing.delete(done));
    this.#closing.add(done);
    // Again after each that is done: others may wait here as well, and one that is done makes room for one alone.
    while (this.#closing.size > this.#most) await Promise.race(this.#closing);
  }

  /** Resolves when nothing is left. */
  async finish(): Promise<void> {
    while (this.#closing.size > 0) await Promise.all(this.#closing);
  }
}
