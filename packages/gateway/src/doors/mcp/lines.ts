/** Cuts a stream of bytes into lines, and holds no more of an unfinished one than it may have. */

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export type LineEars = {
  readonly onLine: (line: Uint8Array) => void;
  /** A line is longer than it may be; the rest of it is skipped. */
  readonly onTooLong: () => void;
};

export class Lines {
  readonly #maxBytes: number;
  readonly #ears: LineEars;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isSkipping = false;

  constructor(maxBytes: number, ears: LineEars) {
    this.#maxBytes = maxBytes;
    this.#ears = ears;
  }

  /** Takes the next bytes; whole lines are given on at once. */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#hold(chunk.subarray(start, end));
      this.#end();
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  #hold(part: Uint8Array): void {
    if (this.#isSkipping) return;
    // Boundary: whoever sends without an end of line fills no memory.
    if (this.#heldBytes + part.length > this.#maxBytes) {
      this.#clear();
      this.#isSkipping = true;
      this.#ears.onTooLong();
      return;
    }
    if (part.length === 0) return;
    this.#held.push(part);
    this.#heldBytes += part.length;
  }

  #end(): void {
    const wasSkipped = this.#isSkipping;
    const [only] = this.#held;
    const whole = this.#held.length === 1 && only !== undefined ? only : Buffer.concat(this.#held);
    this.#clear();
    if (wasSkipped) return;
    const line = whole.at(-1) === CARRIAGE_RETURN ? whole.subarray(0, -1) : whole;
    if (line.length > 0) this.#ears.onLine(line);
  }

  #clear(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#isSkipping = false;
  }
}
