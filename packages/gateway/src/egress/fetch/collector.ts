const FIRST_BYTES = 16_384;

/**
 * Puts pieces together, up to so many bytes. Boundary: pieces are copied into one block, since a target that sends
 * single bytes would otherwise make every one of them hold a whole block of its own.
 */
export class Collector {
  readonly #most: number;
  #block: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Takes a piece; false when it does not fit, and then nothing of it is taken. */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.length;
    if (length > this.#most) return false;
    if (length > this.#block.length) this.#grow(length);
    piece.copy(this.#block, this.#length);
    this.#length = length;
    return true;
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.#block.buffer, this.#block.byteOffset, this.#length);
  }

  #grow(length: number): void {
    const block = Buffer.alloc(Math.min(this.#most, Math.max(FIRST_BYTES, length, this.#block.length * 2)));
    this.#block.copy(block, 0, 0, this.#length);
    this.#block = block;
  }
}
