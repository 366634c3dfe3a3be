/** A growing buffer of bytes. */
export class Sink {
  bytes: Uint8Array<ArrayBuffer>;
  length = 0;

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity);
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.#reserve(1);
    this.bytes[this.length] = value;
    this.length += 1;
  }

  all(values: ArrayLike<number>): void {
    this.#reserve(values.length);
    this.bytes.set(values, this.length);
    this.length += values.length;
  }

  /** Appends a range of other bytes. */
  copy(from: Uint8Array, start: number, end: number): void {
    const count = end - start;
    if (count <= 0) return;
    this.#reserve(count);
    // For a few bytes a loop is cheaper than a call into the runtime.
    if (count > 64) this.bytes.set(from.subarray(start, end), this.length);
    else
      for (let index = 0; index < count; index += 1)
        this.bytes[this.length + index] = from[start + index] ?? 0;
    this.length += count;
  }

  /** An unsigned LEB128 number below 2^32. */
  index(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  /** A signed LEB128 number: any integer that a JavaScript number holds exactly. */
  signed(value: number): void {
    if ((value | 0) === value) this.#signed32(value);
    else this.#signedLong(value);
  }

  #signed32(value: number): void {
    let rest = value;
    while (rest < -64 || rest > 63) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>= 7;
    }
    this.byte(rest & 0x7f);
  }

  #signedLong(value: number): void {
    let rest = value;
    for (;;) {
      const low = ((rest % 128) + 128) % 128;
      rest = (rest - low) / 128;
      const isLast = (rest === 0 && low < 64) || (rest === -1 && low >= 64);
      this.byte(isLast ? low : low | 0x80);
      if (isLast) return;
    }
  }

  /** A length, then what `write` writes. */
  sized(content: Sink): void {
    this.index(content.length);
    this.copy(content.bytes, 0, content.length);
  }

  taken(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length);
  }

  #reserve(count: number): void {
    const need = this.length + count;
    if (need <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(need, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }
}
