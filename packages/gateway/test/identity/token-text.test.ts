import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import { MAX_AUTHORIZATION_BYTES, readBearer } from '../../src/identity/authenticate.ts';
import { formatToken, hasToken, parseToken } from '../../src/identity/tokens.ts';

const NAME_CHARS = '0123456789abcdefghjkmnpqrstvwxyz';
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const ids = fc
  .array(fc.constantFrom(...NAME_CHARS), { minLength: 25, maxLength: 25 })
  .map((chars) => `tok_${chars.join('')}`);
const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 });
const tokens = fc.record({ id: ids, secret: secrets });
const nearTokens = fc
  .tuple(tokens.map(formatToken), fc.nat(72), fc.string({ maxLength: 3 }), fc.nat(3))
  .map(([text, at, inserted, cut]) => text.slice(0, at) + inserted + text.slice(at + cut));
const texts = fc.oneof(fc.string({ unit: CHARACTER, maxLength: 200 }), nearTokens);

describe('parseToken()', () => {
  test('gives back what formatToken() wrote', () => {
    fc.assert(
      fc.property(tokens, ({ id, secret }) => {
        const text = formatToken({ id, secret });
        expect(text).toHaveLength(73);
        expect(parseToken(text)).toEqual({ id, secret: Buffer.from(secret) });
        expect(hasToken(`see ${text}!`)).toBe(true);
      }),
    );
  });

  test('never throws, and takes no text but the one spelling of a token', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const parts = parseToken(text);
        if (parts !== null) expect(formatToken(parts)).toBe(text);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });

  test('takes one of the four texts that decode to the same secret', () => {
    const text = formatToken({ id: `tok_${'0'.repeat(25)}`, secret: Buffer.alloc(32, 7) });
    const same = [...BASE64URL]
      .map((last) => text.slice(0, -1) + last)
      .filter((each) => Buffer.from(each.slice(30), 'base64url').equals(Buffer.alloc(32, 7)));
    expect(same).toHaveLength(4);
    expect(same.filter((each) => parseToken(each) !== null)).toEqual([text]);
  });

  test.each([
    ['a line end behind it', (text: string) => `${text}\n`],
    ['a space before it', (text: string) => ` ${text}`],
    ['capital letters', (text: string) => text.toUpperCase()],
    ['padding', (text: string) => `${text}=`],
    ['plain base64', (text: string) => text.replaceAll('-', '+').replaceAll('_', '/')],
    ['the id in place of the name', (text: string) => text.replace('pls_', 'pls_tok_')],
  ])('refuses a token with %s', (_, change) => {
    const text = formatToken({ id: `tok_${'1'.repeat(25)}`, secret: Buffer.alloc(32, 0xfb) });
    expect(parseToken(text)).not.toBeNull();
    expect(parseToken(change(text))).toBeNull();
  });
});

describe('readBearer()', () => {
  test('never throws, and what it gives is a part of what came in', () => {
    const headers = fc.oneof(
      texts,
      texts.map((text) => `Bearer ${text}`),
    );
    fc.assert(
      fc.property(headers, (header) => {
        const token = readBearer(header);
        if (token !== null) expect(header.slice('Bearer '.length)).toBe(token);
      }),
      { numRuns: volume(2_000, 30) },
    );
  });

  test.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER a.b-c_d~e+f/g==', 'a.b-c_d~e+f/g=='],
    ['', null],
    ['Bearer', null],
    ['Bearer ', null],
    ['Bearer  abc', null],
    [' Bearer abc', null],
    ['Bearer abc ', null],
    ['Bearer\tabc', null],
    ['Bearer abc, Bearer def', null],
    ['Bearer abc,def', null],
    ['Bearer abc def', null],
    ['Bearer "abc"', null],
    ['Bearer abc\r\nHost: x', null],
    ['Bearer a=b', null],
    ['Basic YTpi', null],
    ['Bearerabc', null],
    ['Bearer äbc', null],
  ])('reads %j as %j', (header, token) => {
    expect(readBearer(header)).toBe(token);
  });

  test('reads 8 KiB and not a byte more', () => {
    const longest = `Bearer ${'a'.repeat(MAX_AUTHORIZATION_BYTES - 'Bearer '.length)}`;
    expect(readBearer(longest)).toHaveLength(MAX_AUTHORIZATION_BYTES - 'Bearer '.length);
    expect(readBearer(`${longest}a`)).toBeNull();
  });
});
