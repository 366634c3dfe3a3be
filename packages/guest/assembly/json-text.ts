import { Cursor, isDigit } from './cursor';

const QUOTE: i32 = 0x22;
const BACKSLASH: i32 = 0x5c;

/** Reads a text in quotes; null if there is none, or if it is not valid UTF-8. */
export function readText(cursor: Cursor): string | null {
  if (!cursor.take(QUOTE)) return null;
  const from = cursor.at;
  let hasEscape = false;
  while (true) {
    const byte = cursor.peek();
    if (byte === QUOTE) break;
    // True at the end (-1), too.
    if (byte < 0x20) return null;
    if (byte === BACKSLASH) {
      hasEscape = true;
      cursor.at += 1;
      if (takeEscape(cursor) < 0) return null;
    } else if (byte < 0x80) cursor.at += 1;
    else if (!takeWide(cursor, byte)) return null;
  }
  const to = cursor.at;
  cursor.at += 1;
  return hasEscape ? unescaped(from, to) : String.UTF8.decodeUnsafe(from, to - from);
}

/** Reads a character of several bytes. */
function takeWide(cursor: Cursor, first: i32): bool {
  const more: usize = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || cursor.end - cursor.at <= more) return false;
  const second = load<u8>(cursor.at + 1) as i32;
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return false;
  for (let next: usize = 2; next <= more; next += 1) if (load<u8>(cursor.at + next) >> 6 !== 2) return false;
  cursor.at += 1 + more;
  return true;
}

/** The character of an escape after its backslash; -1 if it is invalid. */
function takeEscape(cursor: Cursor): i32 {
  const letter = cursor.peek();
  cursor.at += 1;
  if (letter === QUOTE || letter === BACKSLASH || letter === 0x2f) return letter;
  if (letter === 0x62) return 8;
  if (letter === 0x74) return 9;
  if (letter === 0x6e) return 10;
  if (letter === 0x66) return 12;
  if (letter === 0x72) return 13;
  if (letter !== 0x75) return -1;
  const unit = takeHex(cursor);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  if (unit > 0xdbff || !cursor.take(BACKSLASH) || !cursor.take(0x75)) return -1;
  const low = takeHex(cursor);
  return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

/** The number of four hexadecimal digits; -1 if there are fewer. */
function takeHex(cursor: Cursor): i32 {
  let unit = 0;
  for (let left = 4; left > 0; left -= 1) {
    const byte = cursor.peek();
    const small = byte | 0x20;
    if (isDigit(byte)) unit = (unit << 4) | (byte - 0x30);
    else if (byte > 0 && small >= 0x61 && small <= 0x66) unit = (unit << 4) | (small - 0x57);
    else return -1;
    cursor.at += 1;
  }
  return unit;
}

/** The text between quotes that was checked before, allocated once: a guest never frees memory. */
function unescaped(from: usize, to: usize): string {
  const room = heap.alloc(to - from);
  const cursor = new Cursor(from, to);
  let end = room;
  while (cursor.at < to) {
    const byte = cursor.peek();
    cursor.at += 1;
    if (byte === BACKSLASH) end = putCharacter(end, takeEscape(cursor));
    else {
      store<u8>(end, byte);
      end += 1;
    }
  }
  return String.UTF8.decodeUnsafe(room, end - room);
}

/** Writes a character in UTF-8; returns the position after it. */
export function putCharacter(pointer: usize, character: i32): usize {
  if (character < 0x80) {
    store<u8>(pointer, character);
    return pointer + 1;
  }
  const more: usize = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  let rest = character;
  for (let next = more; next > 0; next -= 1) {
    store<u8>(pointer + next, 0x80 | (rest & 0x3f));
    rest >>= 6;
  }
  store<u8>(pointer, (more === 1 ? 0xc0 : more === 2 ? 0xe0 : 0xf0) | rest);
  return pointer + more + 1;
}
