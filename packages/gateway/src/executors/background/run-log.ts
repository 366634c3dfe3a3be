/** How much of the output of a background run is kept: its end. */
const LOG_BYTES = 256 * 1024;
/** A character of UTF-8 has at most three bytes after its first one. */
const MAX_CONTINUATIONS = 3;

/** A part of a log. */
export type LogPart = {
  readonly text: string;
  /** Where the next reading continues. */
  readonly cursor: number;
  /** How many bytes between the cursor that was passed and the beginning of the text are no longer kept. */
  readonly lostBytes: number;
};

/** The last output of a run, of both streams in the order of their arrival, in memory that does not grow. */
export class RunLog {
  readonly #ring = Buffer.alloc(LOG_BYTES);
  /** Of everything that was ever added. */
  #total = 0;

  append(chunk: Uint8Array): void {
    // Boundary: whatever a command prints, only the end of it is kept.
    const kept = chunk.subarray(Math.max(0, chunk.length - LOG_BYTES));
    this.#total += chunk.length - kept.length;
    const at = this.#total % LOG_BYTES;
    const first = kept.subarray(0, LOG_BYTES - at);
    this.#ring.set(first, at);
    this.#ring.set(kept.subarray(first.length), 0);
    this.#total += kept.length;
  }

  /** Up to `maxBytes` of what follows the cursor; without one, the last of them. */
  read(since: number | null, maxBytes: number): LogPart {
    const oldest = Math.max(0, this.#total - LOG_BYTES);
    const wanted = since ?? this.#total - maxBytes;
    const from = this.#alignedFrom(Math.min(Math.max(wanted, oldest), this.#total));
    const end = Math.min(from + maxBytes, this.#total);
    // What was not read to the end of the log ends with a whole character.
    const to = end < this.#total ? Math.max(this.#alignedBack(end, from), from + 1) : end;
    const lostBytes = since === null ? 0 : Math.max(0, from - since);
    return { text: this.#slice(from, to).toString('utf8'), cursor: to, lostBytes };
  }

  #alignedFrom(from: number): number {
    let at = from;
    while (at < this.#total && at - from < MAX_CONTINUATIONS && this.#isContinuation(at)) at += 1;
    return at < this.#total && this.#isContinuation(at) ? from : at;
  }

  #alignedBack(end: number, from: number): number {
    let at = end;
    while (at > from && end - at < MAX_CONTINUATIONS && this.#isContinuation(at)) at -= 1;
    return this.#isContinuation(at) ? end : at;
  }

  #isContinuation(at: number): boolean {
    return ((this.#ring[at % LOG_BYTES] ?? 0) & 0xc0) === 0x80;
  }

  #slice(from: number, to: number): Buffer {
    const [start, end] = [from % LOG_BYTES, to % LOG_BYTES];
    if (to === from) return Buffer.alloc(0);
    if (start < end) return Buffer.from(this.#ring.subarray(start, end));
    return Buffer.concat([this.#ring.subarray(start), this.#ring.subarray(0, end)]);
  }
}
