/*
 * A float in the fewest digits that are read as the same float again, spelled as ECMAScript spells it, which is what
 * RFC 8785 asks for. Its digits are worked out exactly; they are rounded to 15, 16 and 17 until one is read back.
 */
import { bytesOf, JsonNumber, parseJson } from '@palisade/guest/assembly';

/** Whole numbers below it are written as such. */
const WHOLE: f64 = 9_007_199_254_740_992;
const LEAST_NORMAL: f64 = 2.2250738585072014e-308;
const MOST_DIGITS: i32 = 17;
const MOST_PLACES: i32 = 6;

export function numberText(value: f64): string {
  const size = Math.abs(value);
  const sign = value < 0 ? '-' : '';
  if (size < WHOLE && Math.floor(size) === size) return sign + (size as u64).toString();
  const short = shortText(size);
  if (short !== '') return sign + short;
  const exact = new Digits(size);
  for (let count = size < LEAST_NORMAL ? 1 : 15; count < MOST_DIGITS; count += 1) {
    const found = exact.near(count, size);
    if (found !== null) return sign + spelled(found, exact.point);
  }
  return sign + spelled(exact.rounded(MOST_DIGITS, 0), exact.point);
}

/** Of a number with few digits behind the point, which most are: one division of whole numbers rounds once. */
function shortText(size: f64): string {
  if (size < 0.001 || size >= 1e9) return '';
  let scale: f64 = 10;
  for (let places = 1; places <= MOST_PLACES; places += 1) {
    const whole = Math.round(size * scale);
    if (whole / scale === size) {
      const digits = (whole as u64).toString().padStart(places + 1, '0');
      return `${digits.slice(0, digits.length - places)}.${digits.slice(digits.length - places)}`;
    }
    scale *= 10;
  }
  return '';
}

/** Nine digits at once, and the most factors of 5 and 2 that they can be multiplied by. */
const LIMB: u64 = 1_000_000_000;
const MOST_FIVES: i32 = 13;
const MOST_TWOS: i32 = 30;

/** Digits with the point before the first one and moved by `point`. */
class Digits {
  private readonly all: u8[] = [];
  private readonly limbs: u64[] = [];
  private readonly exactPoint: i32;
  /** Of what was rounded last. */
  point: i32 = 0;

  constructor(value: f64) {
    const bits = reinterpret<u64>(value);
    const biased = (bits >> 52) as i32;
    const fraction = bits & 0xf_ffff_ffff_ffff;
    const mantissa = biased === 0 ? fraction : fraction | (1 << 52);
    const power = max(biased, 1) - 1075;
    this.limbs.push(mantissa % LIMB);
    this.limbs.push(mantissa / LIMB);
    // Halves are made of tenths: m / 2^p is m × 5^p / 10^p.
    const base: u64 = power < 0 ? 5 : 2;
    const step = power < 0 ? MOST_FIVES : MOST_TWOS;
    for (let left = abs(power); left > 0; left -= step) this.multiply(base, min(left, step));
    this.spell();
    this.exactPoint = this.all.length + min(power, 0);
  }

  /** The last digits first. */
  private multiply(base: u64, times: i32): void {
    let factor: u64 = 1;
    for (let left = times; left > 0; left -= 1) factor *= base;
    let carry: u64 = 0;
    for (let at = 0; at < this.limbs.length; at += 1) {
      carry += this.limbs[at] * factor;
      this.limbs[at] = carry % LIMB;
      carry /= LIMB;
    }
    for (; carry > 0; carry /= LIMB) this.limbs.push(carry % LIMB);
  }

  /** The first digit first, which is no zero. */
  private spell(): void {
    for (let at = this.limbs.length - 1; at >= 0; at -= 1)
      for (let unit = LIMB / 10; unit > 0; unit /= 10) {
        const digit = ((this.limbs[at] / unit) % 10) as u8;
        if (digit !== 0 || this.all.length > 0) this.all.push(digit);
      }
  }

  /** So many digits that are read as the value; null where none are. */
  near(count: i32, value: f64): string | null {
    // At a power of two the nearest may be read as the float below, and the one above it as this one.
    for (let step = 0; step < 2; step += 1) {
      const digits = this.rounded(count, step);
      const read = parseJson(bytesOf(`0.${digits}e${this.point}`));
      if (read !== null && (read as JsonNumber).value === value) return digits;
    }
    return null;
  }

  /** The nearest so many digits, or those so many steps above them; zeros at the end are left out. */
  rounded(count: i32, above: i32): string {
    const kept: u8[] = [];
    for (let at = 0; at < count; at += 1) kept.push(at < this.all.length ? this.all[at] : 0);
    this.point = this.exactPoint;
    let more = above + (this.goesUp(count) ? 1 : 0);
    for (let at = count - 1; at >= 0 && more > 0; at -= 1) {
      more += kept[at];
      kept[at] = (more % 10) as u8;
      more /= 10;
    }
    if (more > 0) {
      kept.unshift(more as u8);
      this.point += 1;
    }
    while (kept.length > 1 && kept[kept.length - 1] === 0) kept.pop();
    return kept.join('');
  }

  /** Whether what follows is more than a half, or a half behind an odd digit. */
  private goesUp(count: i32): bool {
    if (count >= this.all.length || this.all[count] < 5) return false;
    if (this.all[count] > 5) return true;
    for (let at = count + 1; at < this.all.length; at += 1) if (this.all[at] > 0) return true;
    return (this.all[count - 1] & 1) !== 0;
  }
}

/** As ECMAScript does: an exponent from 1e21 on and below 1e-6. */
function spelled(digits: string, point: i32): string {
  if (point > 21 || point < -5) {
    const rest = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${digits.charAt(0)}${rest}e${point > 0 ? '+' : ''}${point - 1}`;
  }
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
  if (digits.length <= point) return digits + '0'.repeat(point - digits.length);
  return `${digits.slice(0, point)}.${digits.slice(point)}`;
}
