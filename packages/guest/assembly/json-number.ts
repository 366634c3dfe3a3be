import { Cursor, isDigit } from './cursor';
import { Decimal } from './decimal';

/** Up to here whole numbers and powers of ten are exact as floats, and one operation on them rounds once. */
const EXACT_DIGITS: i32 = 15;
const EXACT_POWER: i32 = 22;
/** An exponent beyond what the digits could compensate for. */
const FAR: i32 = 100_000_000;

/** Reads a number; NaN if there is none, or if it is larger than any float. */
export function readNumber(cursor: Cursor): f64 {
  const isNegative = cursor.take(0x2d);
  const begin = cursor.at;
  const startsWithZero = cursor.peek() === 0x30;
  const whole = cursor.takeDigits();
  if (whole === 0 || (startsWithZero && whole > 1)) return NaN;
  let part = 0;
  if (cursor.take(0x2e)) {
    part = cursor.takeDigits();
    if (part === 0) return NaN;
  }
  const digitsEnd = cursor.at;
  let power = 0;
  if (cursor.take(0x65) || cursor.take(0x45)) {
    const isSmall = cursor.take(0x2d);
    if (!isSmall) cursor.take(0x2b);
    if (!isDigit(cursor.peek())) return NaN;
    for (; isDigit(cursor.peek()); cursor.at += 1) power = min(power * 10 + (cursor.peek() - 0x30), FAR);
    if (isSmall) power = -power;
  }
  const size = floatOf(begin, digitsEnd, whole + power, power - part);
  return size === Infinity ? NaN : isNegative ? -size : size;
}

/** The float of digits: read as one number times 10^scale, or as 0.digits × 10^point. A point among them is skipped. */
function floatOf(begin: usize, end: usize, point: i32, scale: i32): f64 {
  let exact: u64 = 0;
  let significant = 0;
  for (let at = begin; at < end && significant <= EXACT_DIGITS; at += 1) {
    const byte = load<u8>(at);
    if (byte === 0x2e) continue;
    if (significant > 0 || byte !== 0x30) significant += 1;
    exact = exact * 10 + (byte - 0x30);
  }
  if (significant <= EXACT_DIGITS && abs(scale) <= EXACT_POWER)
    return scale < 0 ? (exact as f64) / tenTo(-scale) : (exact as f64) * tenTo(scale);
  const decimal = new Decimal(point);
  for (let at = begin; at < end; at += 1) {
    const byte = load<u8>(at);
    if (byte !== 0x2e) decimal.push(byte - 0x30);
  }
  return decimal.toFloat();
}

function tenTo(power: i32): f64 {
  let value: f64 = 1;
  for (let left = power; left > 0; left -= 1) value *= 10;
  return value;
}
