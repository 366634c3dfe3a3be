import { isUtf8 } from 'node:buffer';
import type { Json } from './json.ts';
import type { Problem, SourcePosition } from './result.ts';
import { positionAt, positionOfBadUtf8 } from './text-position.ts';

/*
 * The parser of all JSON from outside. What it accepts has one meaning for every later reader: no duplicate keys, no
 * number that a double cannot represent, no text that UTF-8 cannot encode, no depth that a recursive walk cannot
 * handle. It never throws on any input, and it never repairs: what is not strict RFC 8259 is refused with its position.
 */

export type StrictLimits = { readonly maxBytes: number; readonly maxDepth: number };
export type StrictResult =
  | { readonly ok: true; readonly value: Json }
  /** The message is the problem as a sentence; for another sentence, use the problem. */
  | { readonly ok: false; readonly message: string; readonly problem: JsonProblem };

export type JsonProblem = Problem & { readonly position: SourcePosition };

/** Keeps the recursion far from a stack overflow, whatever a caller allows. */
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

/** Parses strict JSON once; a refusal includes the line and the column. */
export function parseStrict(raw: string | Uint8Array, limits: StrictLimits): StrictResult {
  // Boundary: the size is known before a byte is parsed.
  if (raw.length > limits.maxBytes || Buffer.byteLength(raw) > limits.maxBytes) {
    return refusal('it is too large', `at most ${limits.maxBytes} bytes`);
  }
  if (typeof raw !== 'string' && !isUtf8(raw)) {
    return refusal('it has bytes that are not UTF-8', 'UTF-8', positionOfBadUtf8(raw));
  }
  const text = typeof raw === 'string' ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString();
  const reader = new Reader(text, Math.min(limits.maxDepth, RECURSION_MAX_DEPTH));
  try {
    return { ok: true, value: reader.document() };
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault;
    return refusal(fault.is, fault.expected, positionAt(text, fault.at));
  }
}

const START: SourcePosition = { line: 1, column: 1 };

function refusal(is: string, expected: string, position = START): StrictResult {
  const where = `line ${position.line}, column ${position.column}`;
  const message = `Cannot read JSON at ${where}: ${is}, expected ${expected}`;
  return { ok: false, message, problem: { subject: 'JSON', is, expected, position } };
}

/** Thrown and caught only in this file. It does not extend Error: a stack trace would cost more than the parsing. */
class JsonFault {
  readonly is: string;
  readonly expected: string;
  readonly at: number;
  constructor(is: string, expected: string, at: number) {
    this.is = is;
    this.expected = expected;
    this.at = at;
  }
}

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

  /** Skips white space and returns the next character, without consuming it. */
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
      // Boundary: with two equal keys, policy and tool could see different values; this key would set a prototype.
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
      throw new JsonFault('it is nested too deeply', `at most ${this.#maxDepth} levels`, this.#at);
    }
    this.#at++;
  }

  #leave(): void {
    this.#depth--;
    this.#at++;
  }

  /** Consumes a comma and returns the start of the next element, or returns the closing bracket. */
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
    // Boundary: beyond this, two different numbers in the text become one number in the program.
    if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
      throw new JsonFault('the number is too large', 'at most 2^53-1 in size', this.#at);
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
    // Boundary: a lone surrogate has no UTF-8, so its digest and its canonical form would be those of another text.
    if (/\p{Surrogate}/u.test(value)) {
      throw new JsonFault('a string has a lone surrogate', 'whole characters', this.#at);
    }
    this.#at++;
    return value;
  }

  #unexpected(expected: string): JsonFault {
    const point = this.#text.codePointAt(this.#at);
    if (point === undefined) return new JsonFault('the text ends', expected, this.#at);
    const code = point.toString(16).toUpperCase().padStart(4, '0');
    const found = point > SPACE && point < 0x7f ? `'${String.fromCodePoint(point)}'` : `U+${code}`;
    return new JsonFault(`found ${found}`, expected, this.#at);
  }
}

function badKey(key: string, at: number): JsonFault {
  const shown = JSON.stringify(key.slice(0, SHOWN_KEY_CHARS));
  if (key === '__proto__') return new JsonFault(`the key ${shown} is refused`, 'any other key', at);
  return new JsonFault(`the key ${shown} occurs twice`, 'each key once', at);
}
