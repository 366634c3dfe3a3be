import { Cursor } from './cursor';
import { Json, JsonBool, JsonList, JsonNull, JsonNumber, JsonObject, JsonText } from './json';
import { readNumber } from './json-number';
import { readText } from './json-text';

/*
 * A strict reader of JSON in UTF-8 that does not copy its input: no duplicate keys, no lone surrogates, no invalid UTF-8,
 * no number beyond a float, nothing after the value, and nested no deeper than the gateway allows.
 */

const MOST_DEEP: i32 = 128;

/** Parses bytes; null if they are not JSON. */
export function parseJson(bytes: Uint8Array): Json | null {
  return readJson(bytes.dataStart, bytes.length);
}

/** Parses so many bytes at an address; null if they are not JSON. */
export function readJson(pointer: usize, length: usize): Json | null {
  const cursor = new Cursor(pointer, pointer + length);
  const value = readValue(cursor, 0);
  return cursor.at === cursor.end ? value : null;
}

/** Reads a value and the space around it. */
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
  if (first === 0x74) return cursor.takeLiteral('true') ? new JsonBool(true) : null;
  if (first === 0x66) return cursor.takeLiteral('false') ? new JsonBool(false) : null;
  if (first === 0x6e) return cursor.takeLiteral('null') ? new JsonNull() : null;
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
