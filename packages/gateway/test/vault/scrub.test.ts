import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { newScrubber } from '../../src/vault/scrub.ts';

const VALUE = 'S3cr/t+"päss" wörd\u{1f511}';
const MARK = '[secret api]';
const scrub = newScrubber([{ name: 'api', value: Buffer.from(VALUE) }]);
const base64 = (text: string) => Buffer.from(text).toString('base64');
const hex = (text: string) => Buffer.from(text).toString('hex');
const everyByte = (text: string) => hex(text).replace(/../g, '%$&');
const inLines = (text: string, width: number, end: string) =>
  (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(end);
const asciiJson = (text: string) =>
  JSON.stringify(text).replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

describe('a scrubber takes out', () => {
  it.each([
    ['the value itself', VALUE],
    ['its base64', base64(VALUE).replace(/=+$/, '')],
    ['its base64url', Buffer.from(VALUE).toString('base64url')],
    ['its base64 in lines', inLines(base64(VALUE).replace(/=+$/, ''), 8, '\n')],
    ['its base64 in lines of a mail', inLines(base64(VALUE).replace(/=+$/, ''), 11, '\r\n')],
    ['its hexadecimal', hex(VALUE)],
    ['its hexadecimal in upper case', hex(VALUE).toUpperCase()],
    ['its percent escapes', encodeURIComponent(VALUE)],
    [
      'its percent escapes in lower case',
      encodeURIComponent(VALUE).replace(/%../g, (code) => code.toLowerCase()),
    ],
    ['percent escapes of every byte', everyByte(VALUE)],
    ['its form', new URLSearchParams({ a: VALUE }).toString().slice(2)],
    ['its JSON', JSON.stringify(VALUE).slice(1, -1)],
    ['its JSON in ASCII', asciiJson(VALUE).slice(1, -1)],
    ['its JSON with escaped slashes', JSON.stringify(VALUE).slice(1, -1).replaceAll('/', '\\/')],
  ])('%s, from text and from bytes', (_, form) => {
    expect(scrub(`<${form}>|<${form}>`)).toBe(`<${MARK}>|<${MARK}>`);
    const bytes = Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(form), Buffer.from([0xfe])]);
    expect(Buffer.from(scrub(bytes)).toString('latin1')).toBe(`\xff\0${MARK}\xfe`);
  });

  it.each(['', 'a', 'ab', 'abc', 'user:'])('the value inside a longer base64 text, after "%s"', (before) => {
    for (const after of ['', 'x', 'xy']) {
      const shown = scrub(base64(before + VALUE + after));
      expect(shown).toContain(MARK);
      // Not one character is left that shares bits with the value.
      const [left = '', right = ''] = shown.split(MARK);
      expect(base64(before).startsWith(left.slice(0, Math.floor((before.length * 8) / 6)))).toBe(true);
      expect(left.length * 6).toBeLessThanOrEqual(before.length * 8);
      expect(right.replace(/=+$/, '').length * 6).toBeLessThanOrEqual(after.length * 8 + 4);
    }
  });

  it('the longer of two values that begin alike, and both when they overlap', () => {
    const both = newScrubber([
      { name: 'short', value: Buffer.from('abcdefgh') },
      { name: 'long', value: Buffer.from('abcdefgh-ijklmnop') },
      { name: 'next', value: Buffer.from('ijklmnop-qrstuvwx') },
    ]);
    expect(both('abcdefgh-ijklmnop')).toBe('[secret long]');
    expect(both('abcdefgh-')).toBe('[secret short]-');
    expect(both('abcdefgh-ijklmnop-qrstuvwx!')).toBe('[secret long]!');
  });

  it('a value that was kept with the line end of its file', () => {
    const pem = newScrubber([
      { name: 'pem', value: Buffer.from('-----BEGIN-----\nabcdef\n-----END-----\n') },
    ]);
    expect(pem('-----BEGIN-----\nabcdef\n-----END-----')).toBe('[secret pem]');
    expect(pem('{"key":"-----BEGIN-----\\nabcdef\\n-----END-----\\n"}')).toBe('{"key":"[secret pem]\\n"}');
  });

  it('bytes that are no text', () => {
    const value = Buffer.from([0, 255, 1, 254, 2, 253, 3, 252, 10, 13]);
    const raw = newScrubber([{ name: 'raw', value }]);
    const shown = raw(Buffer.concat([value, Buffer.from('!')]));
    // White space at its ends is not a part of it.
    expect(Buffer.from(shown).toString()).toBe('[secret raw]\n\r!');
    expect(raw(value.toString('base64'))).toContain('[secret raw]');
    expect(raw(value.toString('hex'))).toContain('[secret raw]');
  });

  it('a value of 64 KiB from a text of 8 MiB', () => {
    const value = Buffer.alloc(65_536, 'a long value, ');
    const large = newScrubber([{ name: 'large', value }]);
    const text = `${'x'.repeat(4 * 2 ** 20)}${value}${'%y\\n'.repeat(2 ** 20)}`;
    expect(large(text).length).toBe(text.length - value.toString().trim().length + '[secret large]'.length);
  });
});

describe('a scrubber gives back the very same', () => {
  it.each(['', 'nothing in here', '100% of \\u00 + %zz \\x', '\ud800 half a character', VALUE.slice(1)])(
    'text "%s"',
    (text) => {
      expect(scrub(text)).toBe(text);
    },
  );

  it('bytes, when there is no value in them', () => {
    const bytes = Buffer.from([1, 2, 3, 0xff]);
    expect(scrub(bytes)).toBe(bytes);
    expect(newScrubber([])(bytes)).toBe(bytes);
  });

  it('text, when the value is so short that it occurs by chance', () => {
    expect(newScrubber([{ name: 'pin', value: Buffer.from('  1234567\n') }])('1234567')).toBe('1234567');
  });
});

describe('newScrubber()', () => {
  const value = fc.uint8Array({ minLength: 8, maxLength: 40 }).filter((bytes) => {
    const [first = 0, last = 0] = [bytes.at(0), bytes.at(-1)];
    return ![first, last].some((byte) => byte === 32 || (byte >= 9 && byte <= 13));
  });
  const FORMS: readonly ((bytes: Buffer) => Buffer)[] = [
    (bytes) => bytes,
    (bytes) => Buffer.from(bytes.toString('hex')),
    (bytes) => Buffer.from(bytes.toString('base64')),
    (bytes) => Buffer.from(bytes.toString('base64url')),
    (bytes) => Buffer.from(bytes.toString('hex').replace(/../g, '%$&')),
    (bytes) =>
      Buffer.from(
        [...bytes]
          .map((byte, i) => (i % 2 ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`))
          .join(''),
        'latin1',
      ),
  ];

  it('leaves no value in any form, whatever stands around it', () => {
    const inputs = fc.tuple(
      value,
      fc.uint8Array({ maxLength: 20 }),
      fc.uint8Array({ maxLength: 20 }),
      fc.nat(5),
    );
    fc.assert(
      fc.property(inputs, ([secret, before, after, form]) => {
        const written = (FORMS[form] ?? Buffer.from)(Buffer.from(secret));
        // A percent sign before it would make another escape of it.
        const around = Buffer.from(before).filter((byte) => byte !== 0x25 && byte !== 0x5c);
        const text = Buffer.concat([around, written, after]);
        const shown = Buffer.from(newScrubber([{ name: 'n', value: secret }])(text));
        expect(shown.includes('[secret n]')).toBe(true);
        expect(shown.includes(written)).toBe(false);
      }),
      { numRuns: volume(1000, 30) },
    );
  });

  it('changes nothing of what stands around the value', () => {
    const around = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.replace(/[%+\\]/g, '.'));
    fc.assert(
      fc.property(around, around, (before, after) => {
        expect(scrub(`${before}${VALUE}${after}`)).toBe(`${before}${MARK}${after}`);
      }),
      { numRuns: volume(500, 30) },
    );
  });
});
