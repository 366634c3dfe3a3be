/*
 * The float that is nearest to a decimal number, by long arithmetic on its digits: doubled and halved until its
 * exponent is known, and then rounded once. Slow and exact: it is used where operations on floats would round twice.
 */

/** More digits than these never decide between two floats; a sticky digit records that more followed. */
const MOST_DIGITS: i32 = 800;
const ROOM: i32 = 900;
/** The most bits that are shifted at once. */
const STEP: i32 = 27;
const LEAST_EXPONENT: i32 = -1022;
const MOST_EXPONENT: i32 = 1023;
const MANTISSA_BITS: i32 = 52;

/** Digits, with the point before the first one and moved by `point`: 0.d1 d2 d3 … × 10^point. */
export class Decimal {
  private readonly digits: StaticArray<u8> = new StaticArray<u8>(ROOM);
  private count: i32 = 0;
  private hasMore: bool = false;
  point: i32;

  /** `point` digits before the point are pushed first, then those after it. */
  constructor(point: i32) {
    this.point = point;
  }

  /** Appends a digit. */
  push(digit: u8): void {
    if (this.count === 0 && digit === 0) {
      this.point -= 1;
      return;
    }
    if (this.count < MOST_DIGITS) {
      this.digits[this.count] = digit;
      this.count += 1;
    } else if (digit !== 0) this.hasMore = true;
  }

  /** The nearest float; in a tie, the even one. Infinity if it is larger than all of them. */
  toFloat(): f64 {
    this.trim();
    if (this.count === 0 || this.point < -330) return 0;
    if (this.point > 310) return Infinity;
    let exponent = this.scale() - 1;
    if (exponent < LEAST_EXPONENT) {
      for (let left = LEAST_EXPONENT - exponent; left > 0; left -= STEP) this.halve(min(left, STEP));
      exponent = LEAST_EXPONENT;
    }
    this.double(STEP - 1);
    this.double(STEP);
    let mantissa = this.rounded();
    if (mantissa >> (MANTISSA_BITS + 1) !== 0) {
      mantissa >>= 1;
      exponent += 1;
    }
    if (exponent > MOST_EXPONENT) return Infinity;
    if (mantissa >> MANTISSA_BITS === 0) return reinterpret<f64>(mantissa);
    const biased = (exponent + MOST_EXPONENT) as u64;
    return reinterpret<f64>((biased << MANTISSA_BITS) | (mantissa & ((1 << MANTISSA_BITS) - 1)));
  }

  /** Scales the value to at least a half and below one; returns the power of two that was removed. */
  private scale(): i32 {
    let exponent = 0;
    while (this.point > 0) {
      const bits = min(3 * this.point, STEP);
      this.halve(bits);
      exponent += bits;
    }
    while (this.point < 0 || this.digits[0] < 5) {
      const bits = this.point === 0 ? 1 : min(-3 * this.point, STEP);
      this.double(bits);
      exponent -= bits;
    }
    return exponent;
  }

  private double(bits: i32): void {
    let carry: u64 = 0;
    for (let at = this.count - 1; at >= 0; at -= 1) {
      carry += (this.digits[at] as u64) << bits;
      this.digits[at] = (carry % 10) as u8;
      carry /= 10;
    }
    let gained = 0;
    for (let rest = carry; rest > 0; rest /= 10) gained += 1;
    const start = changetype<usize>(this.digits);
    memory.copy(start + gained, start, this.count);
    for (let at = gained - 1; at >= 0; at -= 1) {
      this.digits[at] = (carry % 10) as u8;
      carry /= 10;
    }
    this.point += gained;
    this.count += gained;
    this.cut();
  }

  private halve(bits: i32): void {
    const mask: u64 = (1 << bits) - 1;
    let rest: u64 = 0;
    let read = 0;
    let written = 0;
    let hasBegun = false;
    while (read < this.count || rest !== 0) {
      rest = rest * 10 + (read < this.count ? this.digits[read] : 0);
      read += 1;
      const digit = (rest >> bits) as u8;
      rest &= mask;
      if (!hasBegun && digit === 0) {
        this.point -= 1;
        continue;
      }
      hasBegun = true;
      if (written < MOST_DIGITS) {
        this.digits[written] = digit;
        written += 1;
      } else if (digit !== 0) this.hasMore = true;
    }
    this.count = written;
    this.trim();
  }

  private cut(): void {
    while (this.count > MOST_DIGITS) {
      this.count -= 1;
      if (this.digits[this.count] !== 0) this.hasMore = true;
    }
    this.trim();
  }

  private trim(): void {
    while (this.count > 0 && this.digits[this.count - 1] === 0) this.count -= 1;
  }

  /** The nearest whole number. */
  private rounded(): u64 {
    let whole: u64 = 0;
    for (let at = 0; at < this.point; at += 1) whole = whole * 10 + (at < this.count ? this.digits[at] : 0);
    const next = this.point >= 0 && this.point < this.count ? this.digits[this.point] : 0;
    const isHalf = next === 5 && this.point === this.count - 1 && !this.hasMore;
    if (isHalf ? (whole & 1) !== 0 : next >= 5) whole += 1;
    return whole;
  }
}
