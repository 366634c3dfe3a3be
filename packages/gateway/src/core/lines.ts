const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

type LineListeners = {
  readonly onLine: (line: Uint8Array) => void;
  /** A line is longer than it may be; the rest of it is skipped. */
  readonly onTooLong: () => void;
};

/** Cuts a stream of bytes into lines, and buffers no more of an unfinished one than a line may have. */
export class Lines {
  readonly #maxBytes: number;
  readonly #listeners: LineListeners;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #isSkipping = false;

  constructor(maxBytes: number, listeners: LineListeners) {
    this.#maxBytes = maxBytes;
    this.#listeners = listeners;
  }

  /** Takes the next bytes, whose memory may be used again; whole lines are given on at once, empty ones left out. */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.#hold(chunk.subarray(start, end));
      this.#end();
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(Uint8Array.from(chunk.subarray(start)));
  }

  /** What has arrived of a line that has not ended. */
  get unfinished(): Uint8Array {
    return Buffer.concat(this.#held);
  }

  #hold(part: Uint8Array): void {
    if (this.#isSkipping) return;
    // Boundary: a sender without an end of line fills no memory.
    if (this.#heldBytes + part.length > this.#maxBytes) {
      this.#clear();
      this.#isSkipping = true;
      this.#listeners.onTooLong();
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
    if (line.length > 0) this.#listeners.onLine(line);
  }

  #clear(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#isSkipping = false;
  }
}
