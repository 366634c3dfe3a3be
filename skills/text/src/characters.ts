/** White space as Unicode has it; none of it is beyond 16 bits. */
export function isSpace(unit: i32): bool {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x2000) return unit === 0x85 || unit === 0xa0 || unit === 0x1680;
  if (unit <= 0x200a || unit === 0x2028 || unit === 0x2029) return true;
  return unit === 0x202f || unit === 0x205f || unit === 0x3000;
}

/** The second half of a pair, which counts with the first. */
export function isSecondHalf(unit: i32): bool {
  return unit >> 10 === 0x37;
}

/** How many characters the text has from one place to another. */
export function charactersOf(text: string, from: i32, to: i32): i32 {
  let count = 0;
  for (let at = from; at < to; at += 1) if (!isSecondHalf(text.charCodeAt(at))) count += 1;
  return count;
}

/** Where a line ends that begins at a place: at its line feed, or at the end of the text. */
export function lineEnd(text: string, from: i32): i32 {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}
