import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { skillBuilder } from '../fixtures/skills/build.ts';
import { type RawEnd, type RawTool, rawTool } from '../fixtures/skills/raw.ts';
import { volume } from '../volume/volume.ts';

/* The readers and writers of JSON that the library for authors has, in both languages: a tool that gives its input back. */

const LANGUAGES = ['assemblyscript', 'c'] as const;
const REFUSED = { failure: '{"code":"wrong-input","message":"expected JSON"}' };
const build = skillBuilder();
const echoes = new Map<string, RawTool>();
const echo = (language: string, input: string | Uint8Array) => echoes.get(language)?.(input);

beforeAll(async () => {
  const built = await Promise.all(LANGUAGES.map((language) => build(language, 'echo')));
  for (const [at, language] of LANGUAGES.entries())
    echoes.set(language, await rawTool(built[at]?.bytes ?? new Uint8Array(), 'echo'));
});

/** What a tool gave, as a value. */
function read(end: RawEnd | undefined): unknown {
  if (end === undefined || !('output' in end)) throw new Error(`Cannot read: ${JSON.stringify(end)}`);
  return JSON.parse(end.output);
}

const deep = (levels: number) => `${'['.repeat(levels)}1.5${']'.repeat(levels)}`;

/** Spelled in ways that canonical JSON does not have, too. */
const ACCEPTED: Readonly<Record<string, string>> = {
  'space around everything': ' \t\r\n{ "a" : [ 1 , 2 ] , "b" : { } } \n',
  'all escapes': '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\u20AC\\uD83d\\uDE00"',
  'control characters': '"\\u0000\\u0001\\u000b\\u001f\\u007f"',
  'characters of every length': '"aä€😀\u{10ffff}\ue000\uffff\u07ff\u0800"',
  'words of JSON': '[true,false,null]',
  'empty things': '{"":{"a":[],"b":{},"c":""}}',
  'small and large numbers':
    '[0,-0,1e2,1E+2,1e-2,0.1,1.5e300,5e-324,2.2250738585072014e-308,9007199254740993]',
  'a number between two floats': '[9007199254740992.5,9007199254740993.0000001,1.7976931348623158e308]',
  'a number with many digits': `[${'1234567890'.repeat(40)}e-395,0.${'0'.repeat(400)}1e400,1${'0'.repeat(300)}]`,
  'halves of the smallest float': '[2.4703282292062327e-324,2.4703282292062328e-324,1e-400]',
  'nesting up to the limit': deep(128),
};

const REFUSALS: Readonly<Record<string, string>> = {
  nothing: '',
  'two values': '1 2',
  'a comma too many': '[1,]',
  'a comma too few': '[1 2]',
  'an open list': '[1',
  'an open text': '"a',
  'an escape that ends': '"\\',
  'an unknown escape': '"\\x"',
  'a short escape': '"\\u12"',
  'an escape with other digits': '"\\u12g4"',
  'half a pair': '"\\ud800"',
  'the second half alone': '"\\udc00"',
  'a pair with a wrong half': '"\\ud800\\u0041"',
  'a line feed in a text': '"a\nb"',
  'a key twice': '{"a":1,"b":2,"a":3}',
  'a key twice in another spelling': '{"b":1,"a":2,"\\u0062":3}',
  'a key that is no text': '{1:2}',
  'a number with a zero in front': '01',
  'a number without digits': '-',
  'a point without digits': '1.',
  'a point in front': '.5',
  'a plus in front': '+1',
  'an exponent without digits': '1e',
  'a number beyond all floats': '1e309',
  'a word that is none': 'nul',
  'a word in capitals': 'True',
  'a comment': '/**/1',
  'a vertical tab around': '\v1',
  'a mark in front': '\ufeff1',
  'nesting past the limit': deep(129),
};

const NOT_UTF8 = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80]];

describe.each(LANGUAGES)('JSON in %s', (language) => {
  test.each(Object.entries(ACCEPTED))('has %s as JavaScript has it', (_, text) => {
    expect(read(echo(language, text))).toEqual(JSON.parse(text.replace('-0,', '0,')));
  });

  test.each(Object.entries(REFUSALS))('refuses %s', (_, text) => {
    expect(echo(language, text)).toEqual(REFUSED);
  });

  test('refuses bytes that are no UTF-8', () => {
    for (const bytes of NOT_UTF8)
      expect(echo(language, Uint8Array.of(0x22, ...bytes, 0x22))).toEqual(REFUSED);
    expect(echo(language, Buffer.from('"ä"'))).toEqual({ output: '"ä"' });
  });

  test('gives back every value as it was', () => {
    const values = fc.jsonValue({ maxDepth: 5, noUnicodeString: false });
    fc.assert(
      fc.property(values, (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(read(echo(language, text)))).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: volume(300, 30) },
    );
  });

  test('reads and writes every float as it is', () => {
    const floats = fc.array(fc.double({ noDefaultInfinity: true, noNaN: true }), { maxLength: 50 });
    fc.assert(
      fc.property(floats, (numbers) => {
        const text = JSON.stringify(numbers);
        expect(read(echo(language, text))).toEqual(JSON.parse(text));
      }),
      { numRuns: volume(100, 30) },
    );
  });

  test('reads numbers of many digits as JavaScript does', () => {
    const digits = fc.stringMatching(/^[1-9][0-9]{0,30}(\.[0-9]{1,30})?(e-?[0-9]{1,2})?$/);
    fc.assert(
      fc.property(digits, (text) => {
        expect(read(echo(language, text))).toBe(JSON.parse(text));
      }),
      { numRuns: volume(300, 30) },
    );
  });

  test('takes what JavaScript takes, of texts that are nearly JSON', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '"b"',
      '1',
      '-',
      '0.5',
      'e1',
      'true',
      'null',
      ' ',
      '\\',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        const end = echo(language, text);
        const [isJson, value] = parsed(text);
        if (isJson) expect(read(end)).toEqual(value);
        else expect(end).toEqual(REFUSED);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });
});

/** What JavaScript makes of a text; a key that is there twice is no JSON here. */
function parsed(text: string): readonly [boolean, unknown] {
  try {
    const value: unknown = JSON.parse(text);
    const keys = [...text.matchAll(/"(a|b)"\s*:/g)];
    const kept = [...JSON.stringify(value).matchAll(/"(a|b)":/g)];
    return [keys.length === kept.length, value];
  } catch {
    return [false, null];
  }
}
