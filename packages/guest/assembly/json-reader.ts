import { Cursor } from './cursor';
import { Json, JsonBool, JsonList, JsonNull, JsonNumber, JsonObject, JsonText } from './json';
import { readNumber } from './json-number';
import { readText } from './json-text';

/*
 * A strict reader of JSON in UTF-8, over bytes where they lie: no key twice, no half pairs, no bytes that are no UTF-8,
 * no number that is no float, nothing behind the value, and nested no deeper than the gateway allows.
 */

const MOST_DEEP: i32 = 128;

/** The value that bytes are; null where they are no JSON. */
export function parseJson(bytes: Uint8Array): Json | null {
  return readJson(bytes.dataStart, bytes.length);
}

/** The value that so many bytes from a place on are; null where they are no JSON. */
export function readJson(place: usize, length: usize): Json | null {
  const cursor = new Cursor(place, place + length);
  const value = readValue(cursor, 0);
  return cursor.at === cursor.end ? value : null;
}

/** Takes a value and the space around it. */
function readValue(cursor: Cursor, depth: i32): Json | null {
  cursor.skipSpace();
  const value = readBare(cursor, depth);
  cursor.skipSpace();
  return value;
}

function readBare(cursor: Cursor, depth: i32): Json | null {
  const first = cursor.peek();
  if (first === 0x7b || first === 0x5b) {
    if (depth === MOST_DEEP) return null;
    cursor.at += 1;
    return first === 0x7b ? readObject(cursor, depth + 1) : readList(cursor, depth + 1);
  }
  if (first === 0x22) {
    const text = readText(cursor);
    return text === null ? null : new JsonText(text);
  }
  if (first === 0x74) return cursor.takeWord('true') ? new JsonBool(true) : null;
  if (first === 0x66) return cursor.takeWord('false') ? new JsonBool(false) : null;
  if (first === 0x6e) return cursor.takeWord('null') ? new JsonNull() : null;
  const number = readNumber(cursor);
  return Number.isNaN(number) ? null : new JsonNumber(number);
}

function readObject(cursor: Cursor, depth: i32): Json | null {
  const members = new JsonObject();
  cursor.skipSpace();
  if (cursor.take(0x7d)) return members;
  do {
    cursor.skipSpace();
    const key = readText(cursor);
    if (key === null || members.get(key) !== null) return null;
    cursor.skipSpace();
    if (!cursor.take(0x3a)) return null;
    const value = readValue(cursor, depth);
    if (value === null) return null;
    members.set(key, value);
  } while (cursor.take(0x2c));
  return cursor.take(0x7d) ? members : null;
}

function readList(cursor: Cursor, depth: i32): Json | null {
  const list = new JsonList();
  cursor.skipSpace();
  if (cursor.take(0x5d)) return list;
  do {
    const item = readValue(cursor, depth);
    if (item === null) return null;
    list.add(item);
  } while (cursor.take(0x2c));
  return cursor.take(0x5d) ? list : null;
}
