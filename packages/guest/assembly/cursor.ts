/** A position in bytes that are read from the beginning to the end. */
export class Cursor {
  at: usize;
  readonly end: usize;

  constructor(at: usize, end: usize) {
    this.at = at;
    this.end = end;
  }

  /** The next byte; -1 at the end. */
  peek(): i32 {
    return this.at < this.end ? (load<u8>(this.at) as i32) : -1;
  }

  /** Consumes this byte, if it is the next one. */
  take(byte: i32): bool {
    if (this.peek() !== byte) return false;
    this.at += 1;
    return true;
  }

  /** Consumes the letters of a literal; false at the first one that differs. */
  takeLiteral(literal: string): bool {
    for (let index = 0; index < literal.length; index += 1)
      if (!this.take(literal.charCodeAt(index))) return false;
    return true;
  }

  /** Consumes digits; returns how many. */
  takeDigits(): i32 {
    let count = 0;
    for (; isDigit(this.peek()); count += 1) this.at += 1;
    return count;
  }

  skipSpace(): void {
    while (isSpace(this.peek())) this.at += 1;
  }
}

export function isDigit(byte: i32): bool {
  return byte >= 0x30 && byte <= 0x39;
}

function isSpace(byte: i32): bool {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
