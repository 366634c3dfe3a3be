import { canonicalize } from '@palisade/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import type { Json } from '../../src/core/json.ts';
import { parseStrict } from '../../src/core/strict-json.ts';

const LIMITS = { maxBytes: 100_000, maxDepth: 64 };
const read = (raw: string | Uint8Array) => parseStrict(raw, LIMITS);
const bytes = (...values: number[]) => Uint8Array.from(values);

function messageOf(raw: string | Uint8Array): string {
  const result = read(raw);
  return result.ok ? `read as ${JSON.stringify(result.value)}` : result.message;
}

/** JSON that the reader promises to take: I-JSON numbers, whole characters, no `__proto__`. */
const text = fc.string({ unit: 'grapheme' });
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6, depthIdentifier: 'json' },
    fc.constantFrom<Json>(null, true, false, '', 0),
    fc.maxSafeInteger(),
    fc.double({ min: -1e15, max: 1e15, noNaN: true }),
    text,
    fc.array(tie('json'), { maxLength: 5, depthIdentifier: 'json' }),
    fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      tie('json'),
      { maxKeys: 5, noNullPrototype: true, depthIdentifier: 'json' },
    ),
  ),
}));

describe('parseStrict() reads', () => {
  it.each<[string, Json]>([
    ['null', null],
    [' \t\r\n[ ] ', []],
    ['{}', {}],
    ['{"a":[1,-2,3.5,1e3,-0.5E-2,0]}', { a: [1, -2, 3.5, 1000, -0.005, 0] }],
    ['9007199254740991', 9007199254740991],
    ['-9007199254740991', -9007199254740991],
    ['1e-400', 0],
    ['"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"', '"\\/\b\f\n\r\té😀'],
    ['"😀 é \u2028"', '😀 é \u2028'],
    ['{"constructor":1,"toString":2,"hasOwnProperty":3}', { constructor: 1, toString: 2, hasOwnProperty: 3 }],
  ])('%s', (raw, value) => {
    expect(read(raw)).toEqual({ ok: true, value });
    expect(read(new TextEncoder().encode(raw))).toEqual({ ok: true, value });
  });

  it('bytes that lie inside a larger buffer', () => {
    const whole = new TextEncoder().encode('xx[1]xx');
    expect(read(whole.subarray(2, 5))).toEqual({ ok: true, value: [1] });
  });
});

describe('parseStrict() refuses', () => {
  it.each([
    ['nothing', '', 'line 1, column 1: the text ends, expected a JSON value'],
    ['white space alone', ' \n ', 'line 2, column 2: the text ends'],
    ['a key twice', '{"a":1,\n "a":2}', 'line 2, column 2: the key "a" occurs twice'],
    ['a key twice behind an escape', '{"a":1,"\\u0061":2}', 'column 8: the key "a" occurs twice'],
    ['the key __proto__', '{"__proto__":{"admin":true}}', 'column 2: the key "__proto__" is refused'],
    ['the key __proto__ behind an escape', '{"__proto\\u005f_":1}', 'the key "__proto__" is refused'],
    ['2^53', '9007199254740992', 'column 1: the number is too large'],
    ['-2^53', '[-9007199254740992]', 'column 2: the number is too large'],
    ['an integer that rounds down to a safe one', '9007199254740993.0', 'the number is too large'],
    ['a number that overflows', '1e400', 'the number is too large'],
    ['a large float', '1e16', 'the number is too large'],
    ['a leading zero', '01', "column 2: found '1', expected no digit after a leading zero"],
    ['a negative leading zero', '-01', "found '1'"],
    ['a plus sign', '+1', "found '+', expected a JSON value"],
    ['a lone minus', '-', 'expected a JSON value'],
    ['a bare point', '.5', 'expected a JSON value'],
    ['a number that ends in a point', '1.', "column 2: found '.', expected the end"],
    ['a number that ends in its exponent', '[1e]', "column 3: found 'e'"],
    ['NaN', 'NaN', 'expected a JSON value'],
    ['Infinity', '-Infinity', 'expected a JSON value'],
    ['a half word', 'tru', 'expected a JSON value'],
    ['a word and more', 'nullx', "found 'x', expected the end"],
    ['a trailing comma in a list', '[1,]', 'expected an element after the comma'],
    ['a trailing comma in an object', '{"a":1,}', 'expected an element after the comma'],
    ['a leading comma', '[,1]', "found ','"],
    ['a missing comma', '[1 2]', 'found \'2\', expected "," or "]"'],
    ['a missing colon', '{"a" 1}', 'found \'1\', expected ":"'],
    ['a bare key', '{a:1}', "found 'a', expected a key in double quotes"],
    ['single quotes', "['a']", "found '''"],
    ['an open list', '[1', 'the text ends, expected "," or "]"'],
    ['an open object', '{"a":1', 'the text ends, expected "," or "}"'],
    ['a wrong bracket', '[1}', "found '}'"],
    ['an open string', '"abc', 'the text ends, expected the closing quote'],
    ['an open escape', '"abc\\', 'the text ends, expected an escape'],
    ['an unknown escape', '"\\x41"', "found 'x', expected an escape of JSON"],
    ['a short unicode escape', '"\\u12"', 'expected four hexadecimal digits'],
    ['a tab in a string', '"a\tb"', 'column 3: found U+0009, expected control characters to be escaped'],
    ['a newline in a string', '"a\nb"', 'found U+000A'],
    ['NUL in a string', '"a\0"', 'found U+0000'],
    ['NUL after the value', '1\0', 'column 2: found U+0000, expected the end'],
    ['a raw high surrogate', '"\ud800"', 'a lone surrogate'],
    ['a raw low surrogate', '"a\udc00b"', 'a lone surrogate'],
    ['an escaped high surrogate', '"\\ud800"', 'a lone surrogate'],
    ['escaped surrogates in the wrong order', '"\\ude00\\ud83d"', 'a lone surrogate'],
    ['half a pair in a key', '{"\\ud800":1}', 'a lone surrogate'],
    ['a byte order mark', '\ufeff{}', 'column 1: found U+FEFF'],
    ['a comment', '[1] // x', "column 5: found '/', expected the end"],
    ['a second value', '{}{}', "column 3: found '{', expected the end"],
    ['exotic white space', '\u00a01', 'found U+00A0'],
  ])('%s', (_, raw, expected) => {
    expect(messageOf(raw)).toContain('Cannot read JSON at ');
    expect(messageOf(raw)).toContain(expected);
  });

  it.each([
    ['an overlong slash', bytes(0x22, 0xc0, 0xaf, 0x22), 'line 1, column 2'],
    ['a surrogate in UTF-8', bytes(0x22, 0xed, 0xa0, 0x80, 0x22), 'line 1, column 2'],
    ['a character that is cut off', bytes(0x22, 0x0a, 0xf0, 0x9f, 0x98), 'line 2, column 1'],
    ['a stray continuation after good text', bytes(0x22, 0xc3, 0xa9, 0x80, 0x22), 'line 1, column 3'],
    ['a replacement character and then a bad byte', bytes(0xef, 0xbf, 0xbd, 0xff), 'line 1, column 2'],
  ])('%s as not UTF-8', (_, raw, place) => {
    expect(messageOf(raw)).toBe(
      `Cannot read JSON at ${place}: it has bytes that are not UTF-8, expected UTF-8`,
    );
  });

  it('a byte order mark in bytes', () => {
    expect(messageOf(bytes(0xef, 0xbb, 0xbf, 0x31))).toContain('found U+FEFF');
  });

  it('one byte over the limit, counted in UTF-8', () => {
    const limits = { maxBytes: 4, maxDepth: 1 };
    expect(parseStrict('"é"', limits).ok).toBe(true);
    expect(parseStrict('"éa"', limits).ok).toBe(false);
    expect(parseStrict(new TextEncoder().encode('"éa"'), limits).ok).toBe(false);
  });

  it('one level over the limit, in lists and in objects', () => {
    const limits = { maxBytes: 1000, maxDepth: 3 };
    expect(parseStrict('[[[1]]]', limits).ok).toBe(true);
    expect(parseStrict('[[[1]],[[2]]]', limits).ok).toBe(true);
    expect(parseStrict('[[[[1]]]]', limits)).toMatchObject({
      ok: false,
      message: 'Cannot read JSON at line 1, column 4: it is nested too deeply, expected at most 3 levels',
    });
    expect(parseStrict('{"a":[{"b":{}}]}', limits).ok).toBe(false);
  });

  it('a nesting bomb, even where the caller sets no bound', () => {
    const limits = { maxBytes: 10_000_000, maxDepth: Number.POSITIVE_INFINITY };
    for (const open of ['[', '{"a":']) {
      expect(parseStrict(open.repeat(1_000_000), limits).ok).toBe(false);
    }
  });
});

describe('parseStrict()', () => {
  it('gives objects with own data properties and leaves every prototype alone', () => {
    const result = read('{"constructor":{"prototype":{"polluted":true}},"a":{"valueOf":1}}');
    if (!result.ok) throw new Error(result.message);
    const value = result.value as { constructor: object };
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['constructor', 'a']);
    expect('polluted' in {}).toBe(false);
  });

  it('agrees with JSON.parse on every text that it reads', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const raw = JSON.stringify(value, null, indent);
        expect(read(raw)).toEqual({ ok: true, value: JSON.parse(raw) });
      }),
      { numRuns: volume(500, 30) },
    );
  });

  it('reads back what canonicalize() wrote', () => {
    fc.assert(
      fc.property(json, (value) => {
        const canonical = canonicalize(value);
        const result = read(canonical);
        expect(result.ok && canonicalize(result.value)).toBe(canonical);
      }),
      { numRuns: volume(500, 30) },
    );
  });

  it('never reads what JSON.parse refuses, and never throws, on texts made of JSON tokens', () => {
    const tokens = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '\\',
      '\\u00',
      '1',
      '-',
      '.',
      'e9',
      'true',
      ' ',
      '\0',
      '😀',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...tokens), { maxLength: 12 }), (parts) => {
        const raw = parts.join('');
        const result = read(raw);
        if (result.ok) expect(result.value).toEqual(JSON.parse(raw));
      }),
      { numRuns: volume(5_000, 30) },
    );
  });

  it('either refuses mutated bytes or reads them as JSON.parse does', () => {
    const mutation = fc.tuple(fc.nat(), fc.nat({ max: 255 }));
    fc.assert(
      fc.property(json, fc.array(mutation, { minLength: 1, maxLength: 4 }), (value, mutations) => {
        const raw = new TextEncoder().encode(JSON.stringify(value));
        for (const [at, byte] of mutations) raw[at % raw.length] = byte;
        const result = read(raw);
        if (result.ok) {
          expect(result.value).toEqual(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw)));
        } else expect(result.message).toMatch(/^Cannot read JSON at line \d+, column \d+: .+, expected .+$/);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });

  it('never throws on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (raw) => {
        expect(typeof read(raw).ok).toBe('boolean');
      }),
      { numRuns: volume(2_000, 30) },
    );
  });
});
