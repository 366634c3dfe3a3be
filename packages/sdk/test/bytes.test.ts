import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import { volume } from '../../../tests/volume/volume.ts';
import { fromBase64, fromHex, fromUtf8, toBase64, toHex, toUtf8 } from '../src/index.ts';

describe('toBase64() and fromBase64()', () => {
  test('agree with Node for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = toBase64(bytes);
        expect(text).toBe(Buffer.from(bytes).toString('base64'));
        expect(fromBase64(text)).toEqual(bytes);
      }),
    );
  });

  test('accept no text that they would not write', () => {
    const base64ish = fc.string({
      unit: fc.constantFrom('A', 'B', '/', '+', '=', '9', '-', ' '),
      maxLength: 12,
    });
    fc.assert(
      fc.property(fc.oneof(base64ish, fc.string({ unit: CHARACTER })), (text) => {
        const bytes = fromBase64(text);
        if (bytes !== null) expect(toBase64(bytes)).toBe(text);
      }),
      { numRuns: volume(2000, 30) },
    );
  });

  test.each(['A', 'AA', 'AAA', 'AB==', 'AAB=', '====', 'A===', 'AA=A', 'AA==AA==', 'AAA\n', 'AA-_', 'AAé='])(
    'refuse %j',
    (text) => {
      expect(fromBase64(text)).toBeNull();
    },
  );
});

describe('toHex() and fromHex()', () => {
  test('agree with Node for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(toHex(bytes)).toBe(Buffer.from(bytes).toString('hex'));
        expect(fromHex(toHex(bytes))).toEqual(bytes);
      }),
    );
  });

  test.each(['0', 'AB', '0g', ' 00', '00\n'])('refuse %j', (text) => {
    expect(fromHex(text)).toBeNull();
  });
});

describe('fromUtf8()', () => {
  test('reads what toUtf8() wrote and keeps a byte order mark visible', () => {
    expect(fromUtf8(toUtf8('\ufeff{é€😀}'))).toBe('\ufeff{é€😀}');
  });

  test.each([[[0xc0, 0x80]], [[0xed, 0xa0, 0x80]], [[0xff]], [[0xe2, 0x82]], [[0xf4, 0x90, 0x80, 0x80]]])(
    'refuses the bytes %j',
    (bytes) => {
      expect(fromUtf8(Uint8Array.from(bytes))).toBeNull();
    },
  );
});
