import { malformed } from './refusal.ts';

// A byte order mark is part of the name: two names that differ only by it are different.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Most names are short ASCII; for those the decoder would take ten times as long. */
const SHORT_BYTES = 64;

/**
 * A position in a range of bytes that only moves forward and never past the end of its range. Every read is checked and
 * throws WasmError `malformed` with the offset of what is wrong. Numbers follow V8: a LEB128 may be padded up to the
 * length of its largest value, but no further, and the unused bits of the last byte must repeat the sign.
 */
export class Cursor {
  readonly bytes: Uint8Array;
  readonly end: number;
  at: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get left(): number {
    return this.end - this.at;
  }

  u8(what: string): number {
    // Boundary: nothing is read past the end of the range.
    if (this.at >= this.end) throw this.#ended(what);
    return this.bytes[this.at++] as number;
  }

  u32(what: string): number {
    const first = this.u8(what);
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      const byte = this.u8(what);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    const last = this.u8(what);
    if (last > 0x0f) throw this.#tooLarge(what, 32);
    return (value | (last << 28)) >>> 0;
  }

  i32(what: string): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.u8(what);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value << (25 - shift)) >> (25 - shift);
    }
    const last = this.u8(what);
    if (last > 0x07 && (last < 0x78 || last > 0x7f)) throw this.#tooLarge(what, 32);
    return value | (last << 28);
  }

  /** A signed number of 33 bits: a block's type, a heap type. */
  s33(what: string): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.u8(what);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value << (25 - shift)) >> (25 - shift);
    }
    const last = this.u8(what);
    if (last > 0x0f && (last < 0x70 || last > 0x7f)) throw this.#tooLarge(what, 33);
    const high = (last << 27) >> 27;
    return value + high * 0x1000_0000;
  }

  /** Reads past a signed number of 64 bits, checked like the others; its value is never needed here. */
  skipI64(what: string): void {
    for (let length = 1; length < 10; length += 1) {
      if (this.u8(what) < 0x80) return;
    }
    const last = this.u8(what);
    if (last !== 0x00 && last !== 0x7f) throw this.#tooLarge(what, 64);
  }

  skip(count: number, what: string): void {
    // Boundary: a length that the file claims is compared with what is there before it is used.
    if (count > this.left) {
      throw malformed(`${what} has ${count} bytes where ${this.left} are left, expected it to fit`, this.at);
    }
    this.at += count;
  }

  /** `length` bytes as strict UTF-8. The caller has bounded the length. */
  text(length: number, what: string): string {
    const start = this.at;
    this.skip(length, what);
    if (length <= SHORT_BYTES && this.#isAscii(start)) {
      return String.fromCharCode.apply(null, this.bytes.subarray(start, this.at) as unknown as number[]);
    }
    try {
      return decoder.decode(this.bytes.subarray(start, this.at));
    } catch {
      // Boundary: no replacement characters, so no two different names become one.
      throw malformed(`${what} is no UTF-8, expected text`, start);
    }
  }

  #isAscii(start: number): boolean {
    for (let at = start; at < this.at; at += 1) {
      if ((this.bytes[at] as number) > 0x7f) return false;
    }
    return true;
  }

  #ended(what: string) {
    return malformed(`the bytes end inside ${what}, expected more`, this.end);
  }

  #tooLarge(what: string, bits: number) {
    return malformed(`${what} has more than ${bits} bits, expected a number that fits`, this.at - 1);
  }
}
