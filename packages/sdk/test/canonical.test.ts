import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../src/index.ts';
import { readVectors } from './signer.ts';

class Point {
  x = 1;
}

const getter = Object.defineProperty({}, 'a', { get: () => 1, enumerable: true });
const setter = Object.defineProperty({}, 'a', { set: () => undefined, enumerable: true });
const arrayGetter = Object.defineProperty([1], '0', { get: () => 1, enumerable: true });

function nest(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels; level += 1) value = [value];
  return value;
}

describe('canonicalize()', () => {
  test.each(readVectors<{ name: string; json: string; encoded: string }[]>('canonical.json'))(
    'encodes the published case: $name',
    ({ json, encoded }) => {
      expect(canonicalize(JSON.parse(json))).toBe(encoded);
    },
  );

  test.each([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a bigint', 1n],
    ['NaN', Number.NaN],
    ['an infinity', Number.NEGATIVE_INFINITY],
    ['an integer beyond the exact ones', 2 ** 53],
    ['a large double', 1e300],
    ['a lone surrogate', 'a\ud800b'],
    ['a lone surrogate in a key', { '\udc00': 1 }],
    ['a field that is undefined', { a: undefined }],
    ['an object of a class', new Point()],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['a getter', getter],
    ['a setter', setter],
    ['a getter in an array', arrayGetter],
    ['a symbol key', { [Symbol('s')]: 1 }],
    // biome-ignore lint/suspicious/noSparseArray: the hole is the case
    ['a hole', [1, , 2]],
    ['nesting beyond the limit', nest(129)],
  ])('refuses %s', (_, value) => {
    expect(() => canonicalize(value)).toThrow(TypeError);
    expect(() => canonicalize({ nested: [value] })).toThrow(
      /^Cannot encode the value: it is .+, expected .+$/,
    );
  });

  test('encodes nesting up to the limit and objects without a prototype', () => {
    expect(canonicalize(nest(128))).toHaveLength(256);
    expect(canonicalize(Object.assign(Object.create(null), { b: 1, a: 2 }))).toBe('{"a":2,"b":1}');
  });

  test('never calls toJSON', () => {
    expect(() => canonicalize({ toJSON: () => 'other' })).toThrow(TypeError);
  });

  test('sorts long lists of keys as it sorts short ones', () => {
    const keys = Array.from({ length: 100 }, (_, index) => `k${(index * 37) % 100}`);
    const encoded = canonicalize(Object.fromEntries(keys.map((key) => [key, 0])));
    expect(encoded).toBe(
      `{${[...keys]
        .sort()
        .map((key) => `"${key}":0`)
        .join(',')}}`,
    );
  });

  test('is a fixed point, keeps the value and ignores the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const json = JSON.stringify(value);
        let encoded: string;
        try {
          encoded = canonicalize(JSON.parse(json));
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          return;
        }
        expect(JSON.parse(encoded)).toEqual(JSON.parse(json));
        expect(canonicalize(JSON.parse(encoded))).toBe(encoded);
        expect(canonicalize(reverseKeys(JSON.parse(json)))).toBe(encoded);
      }),
    );
  });

  test('gives different values different encodings', () => {
    const value = fc.jsonValue().filter((candidate) => encodes(candidate));
    fc.assert(
      fc.property(value, value, (a, b) => {
        const same = canonicalize(a) === canonicalize(b);
        expect(same).toBe(JSON.stringify(sortDeep(a)) === JSON.stringify(sortDeep(b)));
      }),
    );
  });
});

function encodes(value: unknown): boolean {
  try {
    canonicalize(value);
    return true;
  } catch {
    return false;
  }
}

function mapObjects(value: unknown, order: (entries: [string, unknown][]) => [string, unknown][]): unknown {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, order));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => [
    key,
    mapObjects(item, order),
  ]);
  return Object.fromEntries(order(entries));
}

function reverseKeys(value: unknown): unknown {
  return mapObjects(value, (entries) => entries.reverse());
}

function sortDeep(value: unknown): unknown {
  return mapObjects(value, (entries) => entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
