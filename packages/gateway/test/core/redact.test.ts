import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import type { Json } from '../../src/core/json.ts';
import { makeRedactor } from '../../src/core/redact.ts';

const VALUE = 'S3cr/t+"päss" word';
const redact = makeRedactor([{ name: 'API_KEY', value: VALUE }]);
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a redactor replaces', () => {
  it.each([
    ['the value itself', VALUE],
    ['its JSON escapes', JSON.stringify(VALUE).slice(1, -1)],
    ['its ASCII JSON escapes', JSON.stringify(VALUE).slice(1, -1).replace('ä', '\\u00e4')],
    ['its percent encoding', encodeURIComponent(VALUE)],
    [
      'its percent encoding in lower case',
      encodeURIComponent(VALUE).replaceAll('%2F', '%2f').replaceAll('%2B', '%2b').replace('%C3%A4', '%c3%a4'),
    ],
    ['its form encoding', new URLSearchParams({ a: VALUE }).toString().slice(2)],
    ['its hex', Buffer.from(VALUE).toString('hex')],
    ['its upper-case hex', Buffer.from(VALUE).toString('hex').toUpperCase()],
    ['its base64', base64(VALUE)],
    ['its base64url', Buffer.from(VALUE).toString('base64url')],
  ])('%s', (_, form) => {
    expect(redact(form)).toBe('[redacted:API_KEY]');
    expect(redact({ log: [`before ${form} after ${form}`] })).toEqual({
      log: ['before [redacted:API_KEY] after [redacted:API_KEY]'],
    });
  });

  it.each(['', 'a', 'ab', 'abc', 'user:'])('the value inside a longer base64 text, after "%s"', (before) => {
    for (const after of ['', 'x', 'xy']) {
      expect(redact(base64(before + VALUE + after))).toContain('[redacted:API_KEY]');
    }
  });

  it('secrets in keys, without losing a value where two keys become one', () => {
    const record = { [VALUE]: 1, [base64(VALUE)]: 2, plain: 3 };
    expect(redact(record)).toEqual({ '[redacted:API_KEY]': 1, '[redacted:API_KEY]+': 2, plain: 3 });
  });

  it('the longer of two secrets that begin alike', () => {
    const both = makeRedactor([
      { name: 'SHORT', value: 'abcdefgh' },
      { name: 'LONG', value: 'abcdefgh-ijklmnop' },
    ]);
    expect(both('abcdefgh-ijklmnop abcdefgh-')).toBe('[redacted:LONG] [redacted:SHORT]-');
  });

  it('a secret that follows a false start of itself', () => {
    const secret = makeRedactor([{ name: 'S', value: 'aaaaaaaab' }]);
    expect(secret('aaaaaaaaaaab')).toBe('aaa[redacted:S]');
  });

  it('a value whose variable ends in a line break', () => {
    expect(makeRedactor([{ name: 'T', value: 'token-1234\n' }])('x token-1234 y')).toBe('x [redacted:T] y');
  });

  it('very long secrets', () => {
    const value = Array.from({ length: 20_000 }, (_, i) => `line ${i}`).join('\n');
    expect(makeRedactor([{ name: 'PEM', value }])(`a${value}b`)).toBe('a[redacted:PEM]b');
  });
});

describe('a redactor leaves alone', () => {
  const record: Json = {
    password: 'short',
    token: 'a token count of 12',
    tokens: 12345678,
    signature: 'bm90IHRoZSBzZWNyZXQgYXQgYWxs',
    nested: [{ ok: true, none: null }],
  };

  it('what holds no secret, and gives back the very same object', () => {
    expect(redact(record)).toBe(record);
    expect(makeRedactor([])(record)).toBe(record);
  });

  it('the parts of a record beside the one that is changed', () => {
    const redacted = redact({ record, leak: VALUE }) as { record: Json };
    expect(redacted.record).toBe(record);
  });

  it('numbers, also when a secret has the same digits', () => {
    expect(makeRedactor([{ name: 'PIN', value: '12345678' }])(record)).toBe(record);
  });

  it('values shorter than eight characters', () => {
    expect(makeRedactor([{ name: 'X', value: 'short' }])(record)).toBe(record);
    expect(makeRedactor([{ name: 'X', value: '  short    ' }])(record)).toBe(record);
  });
});

describe('makeRedactor()', () => {
  it('leaves no value of eight or more characters in any string, for arbitrary secrets and texts', () => {
    const secret = fc
      .string({ unit: CHARACTER, minLength: 8, maxLength: 40 })
      .filter((s) => s.trim().length >= 8);
    const inputs = fc.tuple(
      secret,
      fc.string(),
      fc.string(),
      fc.constantFrom('utf8', 'hex', 'base64', 'base64url'),
    );
    fc.assert(
      fc.property(inputs, ([value, before, after, encoding]) => {
        const form = Buffer.from(value.trim()).toString(encoding as BufferEncoding);
        const shown = String(makeRedactor([{ name: 'N', value }])(`${before}${form}${after}`));
        expect(shown).toContain('[redacted:N]');
        expect(shown.split('[redacted:N]').some((part) => part.includes(form))).toBe(false);
      }),
      { numRuns: volume(500, 30) },
    );
  });
});
