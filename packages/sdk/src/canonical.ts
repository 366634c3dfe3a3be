/**
 * The one encoding of a JSON value that is ever hashed or signed: RFC 8785 (JCS) over I-JSON.
 *
 * The input may be any JavaScript value. A value that JSON would silently drop, round or rewrite is refused, so that
 * two readers of the same bytes never see different things. This file runs no code of the value: no getter and no
 * toJSON is called.
 */

/** The deepest nesting that is encoded; deeper values could exhaust the stack of a reader. */
export const MAX_DEPTH = 128;

/** Longer lists of keys go to the built-in sort; insertion is faster for short ones but quadratic. */
const INSERTION_SORT_KEYS = 24;

const MAX_ENCODED_KEYS = 1024;
const MAX_ENCODED_KEY_LENGTH = 64;
const encodedKeys = new Map<string, string>();

const NEEDS_ESCAPE = /[^ !#-[\]-~]/;
const LONE_SURROGATE = /\p{Surrogate}/u;

// Looking up a getter costs a third of getting a descriptor, and this is the hottest path of the file.
const { __lookupGetter__: lookUpGetter } = Object.prototype as unknown as {
  __lookupGetter__: (key: string) => unknown;
};

/** The canonical text of a value; throws a TypeError for whatever JSON cannot carry unchanged. */
export function canonicalize(value: unknown): string {
  return encode(value, 0);
}

function encode(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return encodeString(value);
    case 'number':
      return encodeNumber(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      // Boundary: nesting is bounded before the stack is.
      if (depth >= MAX_DEPTH) throw refusal(`nested deeper than ${MAX_DEPTH} levels`, 'a shallower one');
      return Array.isArray(value) ? encodeArray(value, depth + 1) : encodeObject(value, depth + 1);
    default:
      throw refusal(`of type "${typeof value}"`, 'a JSON value');
  }
}

function encodeArray(array: readonly unknown[], depth: number): string {
  let text = '';
  for (let index = 0; index < array.length; index += 1) {
    const key = `${index}`;
    if (lookUpGetter.call(array, key) !== undefined) throw accessorRefusal(key);
    // A hole reads as undefined, which is refused.
    text += index === 0 ? encode(array[index], depth) : `,${encode(array[index], depth)}`;
  }
  return `[${text}]`;
}

function encodeObject(object: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null)
    throw refusal('an object of a class', 'plain data');
  if (Object.getOwnPropertySymbols(object).length > 0)
    throw refusal('an object with a symbol key', 'plain data');
  const fields = object as Readonly<Record<string, unknown>>;
  let text = '';
  for (const key of sortKeys(Object.keys(object))) {
    if (lookUpGetter.call(object, key) !== undefined) throw accessorRefusal(key);
    text += (text === '' ? '' : ',') + encodeKey(key) + encode(fields[key], depth);
  }
  return `{${text}}`;
}

/** Sorts in place by UTF-16 code units, which is what `<` and the default sort compare. */
function sortKeys(keys: string[]): string[] {
  if (keys.length > INSERTION_SORT_KEYS) return keys.sort();
  for (let index = 1; index < keys.length; index += 1) {
    const key = keys[index] as string;
    let position = index - 1;
    for (; position >= 0 && (keys[position] as string) > key; position -= 1)
      keys[position + 1] = keys[position] as string;
    keys[position + 1] = key;
  }
  return keys;
}

/** A key with its colon. The same few keys come again and again. */
function encodeKey(key: string): string {
  const known = encodedKeys.get(key);
  if (known !== undefined) return known;
  const encoded = `${encodeString(key)}:`;
  // Boundary: foreign keys cannot make the memory grow; once full, it stays as it is.
  if (encodedKeys.size < MAX_ENCODED_KEYS && key.length < MAX_ENCODED_KEY_LENGTH)
    encodedKeys.set(key, encoded);
  return encoded;
}

function encodeString(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return `"${text}"`;
  if (LONE_SURROGATE.test(text)) throw refusal('a string with a lone surrogate', 'well-formed Unicode');
  // JSON.stringify escapes exactly what RFC 8785 requires.
  return JSON.stringify(text);
}

function encodeNumber(number: number): string {
  // Boundary: beyond 2^53-1 readers disagree about the value. NaN and the infinities fail the same comparison.
  if (!(Math.abs(number) <= Number.MAX_SAFE_INTEGER))
    throw refusal(`"${number}"`, 'a number within ±(2^53-1)');
  return `${number}`;
}

function refusal(is: string, expected: string): TypeError {
  return new TypeError(`Cannot encode the value: it is ${is}, expected ${expected}`);
}

function accessorRefusal(key: string): TypeError {
  return refusal(`computed by a getter at ${JSON.stringify(key)}`, 'plain data');
}
