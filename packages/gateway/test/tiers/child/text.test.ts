import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outputOf } from '../../../src/tiers/child/text.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const bytes = (...values: number[]) => Uint8Array.from(values);
const base64 = (raw: Uint8Array) => ({ base64: Buffer.from(raw).toString('base64') });
const anyText = fc.string({ unit: 'binary' });

describe('outputOf() gives text', () => {
  it.each(['', 'plain\n', '\u0000\u0001\u007f', '\ufeffwith a mark', 'é€😀', '\u{10ffff}'])('%j', (text) => {
    expect(outputOf(encode(text), false)).toEqual({ text });
    expect(outputOf(encode(text), true)).toEqual({ text });
  });

  it('of bytes that lie inside a larger buffer', () => {
    expect(outputOf(encode('xxéxx').subarray(2, 4), false)).toEqual({ text: 'é' });
    expect(outputOf(encode('xx€xx').subarray(1, 4), true)).toEqual({ text: 'x' });
    expect(outputOf(encode('xx€xx').subarray(3, 4), false)).toEqual(base64(bytes(0x82)));
  });

  it('up to the last whole character where it was cut, wherever that was', () => {
    fc.assert(
      fc.property(anyText, fc.nat(), (text, at) => {
        const whole = encode(text);
        const cut = whole.subarray(0, at % (whole.length + 1));
        const output = outputOf(cut, true);
        const kept = 'text' in output ? output.text : 'no text';
        expect(text.startsWith(kept)).toBe(true);
        // Nothing that was whole is lost: the next character would not fit.
        const [next = ''] = text.slice(kept.length);
        const nextBytes =
          next === '' ? 1 : encode(String.fromCodePoint(text.codePointAt(kept.length) ?? 0)).length;
        expect(encode(kept).length + nextBytes).toBeGreaterThan(cut.length);
      }),
    );
  });
});

describe('outputOf() gives base64 of everything', () => {
  it.each([
    ['a byte that begins nothing', bytes(0x61, 0xff)],
    ['a byte that only goes on', bytes(0x61, 0x80)],
    ['four bytes that only go on', bytes(0x80, 0x80, 0x80, 0x80)],
    ['a needlessly long character', bytes(0xc0, 0x80)],
    ['the beginning of a needlessly long character', bytes(0x61, 0xe0, 0x80)],
    ['the beginning of one, of four bytes', bytes(0x61, 0xf0, 0x80)],
    ['half of a pair', bytes(0xed, 0xa0, 0x80)],
    ['the beginning of half of a pair', bytes(0x61, 0xed, 0xa0)],
    ['what is past the last character', bytes(0xf4, 0x90)],
    ['a beginning in the middle', bytes(0xc3, 0x61)],
    ['a wrong byte before a cut character', bytes(0xff, 0xe2, 0x82)],
  ])('of %s, cut or not', (_, raw) => {
    expect(outputOf(raw, true)).toEqual(base64(raw));
    expect(outputOf(raw, false)).toEqual(base64(raw));
  });

  it.each([[bytes(0x61, 0xc3)], [bytes(0x61, 0xe2, 0x82)], [bytes(0x61, 0xf0, 0x9f, 0x98)]])(
    'of a character that lost its end without a cut: %j',
    (raw) => {
      expect(outputOf(raw, false)).toEqual(base64(raw));
      expect(outputOf(raw, true)).toEqual({ text: 'a' });
    },
  );

  it('or text that has the same bytes, whatever comes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.boolean(), (raw, isCut) => {
        const output = outputOf(raw, isCut);
        const back = 'text' in output ? encode(output.text) : Buffer.from(output.base64, 'base64');
        const lost = raw.length - back.length;
        expect(Buffer.compare(back, raw.subarray(0, back.length))).toBe(0);
        expect(lost).toBeLessThanOrEqual(isCut && 'text' in output ? 3 : 0);
      }),
    );
  });
});
