/** White space as Unicode has it. */
export function isSpace(unit: i32): bool {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x2000) return unit === 0xa0 || unit === 0x1680;
  return unit <= 0x200a || unit === 0x202f || unit === 0x205f || unit === 0x3000;
}

export function isAsciiPunctuation(unit: i32): bool {
  if (unit < 0x21 || unit > 0x7e) return false;
  return !isAlphanumeric(unit);
}

/** Signs of ASCII, and the ranges of Unicode that are signs for the most part. */
export function isPunctuation(unit: i32): bool {
  if (unit < 0x80) return isAsciiPunctuation(unit);
  if (unit < 0x100)
    return (unit >= 0xa1 && unit <= 0xbf && !isLatinOther(unit)) || unit === 0xd7 || unit === 0xf7;
  if (unit < 0x2010) return false;
  if (unit <= 0x205e) return unit !== 0x2028 && unit !== 0x2029 && unit !== 0x202f;
  if (unit < 0x20a0) return false;
  if (unit <= 0x20c0 || (unit >= 0x2190 && unit <= 0x2bff)) return true;
  if (unit >= 0x3001 && unit <= 0x3020) return unit <= 0x3004 || unit >= 0x3008;
  return (unit >= 0xff01 && unit <= 0xff0f) || (unit >= 0xff1a && unit <= 0xff20);
}

export function isAlphanumeric(unit: i32): bool {
  return isDigit(unit) || isLetter(unit);
}

export function isLetter(unit: i32): bool {
  const small = unit | 0x20;
  return small >= 0x61 && small <= 0x7a;
}

export function isDigit(unit: i32): bool {
  return unit >= 0x30 && unit <= 0x39;
}

/** Between the signs of Latin-1: ª, small digits, µ, º, fractions and the soft hyphen. */
function isLatinOther(unit: i32): bool {
  if (unit === 0xaa || unit === 0xad || unit === 0xb2 || unit === 0xb3) return true;
  return unit === 0xb5 || unit === 0xb9 || unit === 0xba || (unit >= 0xbc && unit <= 0xbe);
}

/** A text without the spaces and tabs around it. Other white space stays, as Markdown has it. */
export function strip(text: string): string {
  return stripStart(stripEnd(text));
}

export function stripStart(text: string): string {
  let from = 0;
  while (from < text.length && isBlank(text.charCodeAt(from))) from += 1;
  return from === 0 ? text : text.slice(from);
}

export function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return end === text.length ? text : text.slice(0, end);
}

function isBlank(unit: i32): bool {
  return unit === 0x20 || unit === 0x09;
}
