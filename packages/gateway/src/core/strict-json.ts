import { isUtf8 } from 'node:buffer';
import type { Json } from './json.ts';
import type { Problem, SourcePosition } from './result.ts';

/*
 * The one reader of JSON that comes from outside. What it lets through has one meaning for every later reader: no key
 * twice, no number that a double cannot hold, no text that UTF-8 cannot carry, no depth that a recursive walk cannot
 * bear. It never throws on any input, and it never repairs: what is not strict RFC 8259 is refused with its place.
 */

export type StrictLimits = { readonly maxBytes: number; readonly maxDepth: number };
type Positioned = Problem & { readonly position: SourcePosition };
/** The value; or what is wrong, as data with its position and as one sentence. */
export type StrictResult =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: Positioned; readonly message: string };

/** Keeps the recursion far from the end of the stack, whatever a caller allows. */
const RECURSION_MAX_DEPTH = 1_000;
const SHOWN_KEY_CHARS = 64;
/** Integers of up to this many digits are exact in a double. */
const EXACT_DIGITS = 15;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const HEX4 = /[0-9a-fA-F]{4}/y;
const ESCAPES = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }),
);

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const END = -1;

/** Reads strict JSON once; a refusal says the line and the column. */
export function parseStrict(raw: string | Uint8Array, limits: StrictLimits): StrictResult {
  // Boundary: the size is known before a byte is looked at.
  if (raw.length > limits.maxBytes || Buffer.byteLength(raw) > limits.maxBytes) {
    return refusal({ is: 'it is over the limit in size', expected: `at most ${limits.maxBytes} bytes` });
  }
  if (typeof raw !== 'string' && !isUtf8(raw)) {
    return refusal({ is: 'it has bytes that are not UTF-8', expected: 'UTF-8' }, placeOfBadUtf8(raw));
  }
  const text = typeof raw === 'string' ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString();
  const reader = new Reader(text, Math.min(limits.maxDepth, RECURSION_MAX_DEPTH));
  try {
    return { ok: true, value: reader.document() };
  } catch (problem) {
    if (!(problem instanceof Misread)) throw problem;
    return refusal(problem, placeOf(text, problem.at));
  }
}

export type Place = SourcePosition;

/** The line and column, counted from 1, of an index into a text. */
export function placeOf(text: string, index: number): Place {
  const before = text.slice(0, index);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: index - lineStart + 1 };
}

/** The place of the first byte that no UTF-8 text can have there. */
export function placeOfBadUtf8(bytes: Uint8Array): Place {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const repaired = Buffer.from(decoder.decode(bytes));
  const bad = repaired.findIndex((byte, i) => byte !== bytes[i]);
  // A character that is cut off at the end is held back by `stream`.
  const text = decoder.decode(bytes.subarray(0, bad), { stream: true });
  return placeOf(text, text.length);
}

function refusal(
  { is, expected }: Pick<Problem, 'is' | 'expected'>,
  position: SourcePosition = { line: 1, column: 1 },
): StrictResult {
  const message = `Cannot read JSON at line ${position.line}, column ${position.column}: ${is}, expected ${expected}`;
  return { ok: false, problem: { subject: 'JSON', is, expected, position }, message };
}

/** Thrown and caught in this file alone. Not an Error: a stack trace would cost more than the reading. */
class Misread {
  readonly is: string;
  readonly expected: string;
  readonly at: number;
  constructor(is: string, expected: string, at: number) {
    this.is = is;
    this.expected = expected;
    this.at = at;
  }
}

/** One walk over one text. */
class Reader {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;
  #depth = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): Json {
    const value = this.#value(this.#next());
    if (this.#next() !== END) throw this.#unexpected('the end');
    return value;
  }

  /** Skips white space and gives the character that follows, without taking it. */
  #next(): number {
    const text = this.#text;
    for (; this.#at < text.length; this.#at++) {
      const c = text.charCodeAt(this.#at);
      if (c !== SPACE && c !== 0x0a && c !== 0x0d && c !== 0x09) return c;
    }
    return END;
  }

  #value(first: number): Json {
    if (first === QUOTE) return this.#string();
    if (first === OPEN_OBJECT) return this.#object();
    if (first === OPEN_LIST) return this.#list();
    if (first === 0x74) return this.#word('true', true);
    if (first === 0x66) return this.#word('false', false);
    if (first === 0x6e) return this.#word('null', null);
    return this.#number(first);
  }

  #object(): Json {
    this.#enter();
    const object: Record<string, Json> = {};
    let c = this.#next();
    while (c !== CLOSE_OBJECT) {
      if (c !== QUOTE) throw this.#unexpected('a key in double quotes');
      const keyAt = this.#at;
      const key = this.#string();
      // Boundary: with two equal keys, policy and tool could each see another value; this key would set a prototype.
      if (key === '__proto__' || Object.hasOwn(object, key)) throw badKey(key, keyAt);
      if (this.#next() !== COLON) throw this.#unexpected('":"');
      this.#at++;
      object[key] = this.#value(this.#next());
      c = this.#afterElement(CLOSE_OBJECT, '"," or "}"');
    }
    this.#leave();
    return object;
  }

  #list(): Json {
    this.#enter();
    const list: Json[] = [];
    let c = this.#next();
    while (c !== CLOSE_LIST) {
      list.push(this.#value(c));
      c = this.#afterElement(CLOSE_LIST, '"," or "]"');
    }
    this.#leave();
    return list;
  }

  #enter(): void {
    // Boundary: depth is bounded here, so every later walk may recurse.
    if (++this.#depth > this.#maxDepth) {
      throw new Misread('it is nested too deeply', `at most ${this.#maxDepth} levels`, this.#at);
    }
    this.#at++;
  }

  #leave(): void {
    this.#depth--;
    this.#at++;
  }

  /** Takes a comma and gives the start of the next element, or gives the closing bracket. */
  #afterElement(close: number, expected: string): number {
    const c = this.#next();
    if (c === close) return c;
    if (c !== COMMA) throw this.#unexpected(expected);
    this.#at++;
    const next = this.#next();
    if (next === close) throw this.#unexpected('an element after the comma');
    return next;
  }

  #word(word: string, value: Json): Json {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a JSON value');
    this.#at += word.length;
    return value;
  }

  #number(first: number): number {
    const text = this.#text;
    let at = this.#at;
    let value = 0;
    for (; at < text.length; at++) {
      const digit = text.charCodeAt(at) - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const digits = at - this.#at;
    const c = at < text.length ? text.charCodeAt(at) | 0x20 : END;
    const isPlain = digits > 0 && digits <= EXACT_DIGITS && c !== 0x2e && c !== 0x65;
    if (!isPlain || (first === ZERO && digits > 1)) return this.#longNumber();
    this.#at = at;
    return value;
  }

  #longNumber(): number {
    NUMBER.lastIndex = this.#at;
    const literal = NUMBER.exec(this.#text)?.[0];
    if (literal === undefined) throw this.#unexpected('a JSON value');
    const value = Number(literal);
    // Boundary: past this, two different numbers in the text become one number in the program.
    if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
      throw new Misread('the number is too large', 'at most 2^53-1 in size', this.#at);
    }
    this.#at += literal.length;
    const c = this.#text.charCodeAt(this.#at);
    if (c >= ZERO && c <= NINE) throw this.#unexpected('no digit after a leading zero');
    return value;
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at + 1;
    for (let at = start; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (c === QUOTE) {
        this.#at = at + 1;
        return text.slice(start, at);
      }
      if (c === BACKSLASH || c < SPACE || (c >= 0xd800 && c <= 0xdfff)) break;
    }
    return this.#unusualString();
  }

  /** The same for strings with escapes or characters beyond the basic plane. */
  #unusualString(): string {
    const text = this.#text;
    let value = '';
    let start = ++this.#at;
    for (; this.#at < text.length; this.#at++) {
      const c = text.charCodeAt(this.#at);
      if (c === QUOTE || c === BACKSLASH) {
        value += text.slice(start, this.#at);
        if (c === QUOTE) return this.#wellFormed(value);
        value += this.#escape();
        start = this.#at + 1;
      } else if (c < SPACE) throw this.#unexpected('control characters to be escaped');
    }
    throw this.#unexpected('the closing quote of a string');
  }

  /** Reads from the backslash to the last character of the escape. */
  #escape(): string {
    const letter = this.#text.charAt(++this.#at);
    if (letter !== 'u') {
      const plain = ESCAPES.get(letter);
      if (plain === undefined) throw this.#unexpected('an escape of JSON');
      return plain;
    }
    HEX4.lastIndex = this.#at + 1;
    const hex = HEX4.exec(this.#text)?.[0];
    if (hex === undefined) throw this.#unexpected('four hexadecimal digits');
    this.#at += 4;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }

  #wellFormed(value: string): string {
    // Boundary: half a character has no UTF-8, so its digest and its canonical form would be another text's.
    if (/\p{Surrogate}/u.test(value)) {
      throw new Misread('a string has a lone surrogate', 'whole characters', this.#at);
    }
    this.#at++;
    return value;
  }

  #unexpected(expected: string): Misread {
    const point = this.#text.codePointAt(this.#at);
    if (point === undefined) return new Misread('the text ends', expected, this.#at);
    const code = point.toString(16).toUpperCase().padStart(4, '0');
    const found = point > SPACE && point < 0x7f ? `'${String.fromCodePoint(point)}'` : `U+${code}`;
    return new Misread(`found ${found}`, expected, this.#at);
  }
}

function badKey(key: string, at: number): Misread {
  const shown = JSON.stringify(key.slice(0, SHOWN_KEY_CHARS));
  if (key === '__proto__') return new Misread(`the key ${shown} is refused`, 'any other key', at);
  return new Misread(`the key ${shown} occurs twice`, 'each key once', at);
}
