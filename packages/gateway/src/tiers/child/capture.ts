export type StreamName = 'stdout' | 'stderr';

const FIRST_BLOCK_BYTES = 4_096;
const MAX_BLOCK_BYTES = 1_048_576;

/**
 * Bytes that come in pieces. They are copied into blocks, so that a million pieces of one byte take as much memory as one
 * piece of a million.
 */
export class ByteStore {
  readonly #blocks: Uint8Array[] = [];
  /** What is not yet filled of the last block. */
  #room = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The last bytes, at most so many. */
  tail(count: number): Uint8Array {
    return this.bytes().subarray(Math.max(0, this.#length - count));
  }

  append(chunk: Uint8Array): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#room.length === 0) this.#addBlock();
      const part = rest.subarray(0, this.#room.length);
      this.#room.set(part);
      this.#room = this.#room.subarray(part.length);
      this.#length += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /** Everything so far, as a copy of its own. */
  bytes(): Uint8Array {
    const all = new Uint8Array(this.#length);
    let at = 0;
    for (const block of this.#blocks) {
      all.set(block.subarray(0, this.#length - at), at);
      at += block.length;
    }
    return all;
  }

  #addBlock(): void {
    const size = Math.min(Math.max(this.#length, FIRST_BLOCK_BYTES), MAX_BLOCK_BYTES);
    this.#room = new Uint8Array(size);
    this.#blocks.push(this.#room);
  }
}

/** The two outputs of a child under one quota: what comes first stays, and never more than the quota is kept. */
export class Capture {
  readonly #maxBytes: number;
  readonly #stores = { stdout: new ByteStore(), stderr: new ByteStore() };
  #isPassed = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#stores.stdout.length + this.#stores.stderr.length;
  }

  /** Whether more came than the quota has room for. */
  get isPassed(): boolean {
    return this.#isPassed;
  }

  /** Keeps what the quota has room for, and gives that part. */
  take(stream: StreamName, chunk: Uint8Array): Uint8Array {
    // Boundary: the quota counts both streams, so that neither can be filled behind the other.
    const kept = chunk.subarray(0, this.#maxBytes - this.length);
    this.#isPassed ||= kept.length < chunk.length;
    this.#stores[stream].append(kept);
    return kept;
  }

  bytes(stream: StreamName): Uint8Array {
    return this.#stores[stream].bytes();
  }
}
