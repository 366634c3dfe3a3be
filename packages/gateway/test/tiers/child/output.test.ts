import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { ByteStore, OutputCapture, outputOf } from '../../../src/tiers/child/output.ts';

const chunk = fc.uint8Array({ maxLength: 9_000 });

describe('ByteStore', () => {
  it('gives what was appended, whatever the pieces', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 8 }), (chunks) => {
        const store = new ByteStore();
        for (const each of chunks) store.append(each);
        expect(Buffer.compare(store.bytes(), Buffer.concat(chunks))).toBe(0);
        expect(store.length).toBe(store.bytes().length);
      }),
    );
  });

  it('gives the last of it, however few there are and whatever the pieces', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 4 }), fc.nat(20_000), (chunks, count) => {
        const store = new ByteStore();
        for (const each of chunks) store.append(each);
        const all = Buffer.concat(chunks);
        const expected = all.subarray(Math.max(0, all.length - count));
        expect(Buffer.compare(store.tail(count), expected)).toBe(0);
        expect(store.tail(0)).toHaveLength(0);
      }),
    );
  });

  it('keeps a copy: what the giver does to its piece afterwards is not seen', () => {
    const store = new ByteStore();
    const piece = Uint8Array.of(1, 2);
    store.append(piece);
    piece.fill(9);
    store.bytes().fill(9);
    expect([...store.bytes()]).toEqual([1, 2]);
  });
});

describe('OutputCapture', () => {
  const pieces = fc.array(fc.tuple(fc.constantFrom('stdout' as const, 'stderr' as const), chunk), {
    maxLength: 8,
  });

  it('keeps the first bytes of both streams up to one quota, and says whether there were more', () => {
    fc.assert(
      fc.property(pieces, fc.nat(30_000), (all, maxBytes) => {
        const capture = new OutputCapture(maxBytes);
        const kept = { stdout: [] as number[], stderr: [] as number[] };
        let left = maxBytes;
        for (const [stream, each] of all) {
          const fits = each.subarray(0, left);
          expect(capture.take(stream, each)).toEqual(fits);
          kept[stream].push(...fits);
          left -= fits.length;
        }
        const came = all.reduce((sum, [, each]) => sum + each.length, 0);
        expect(capture.quotaExceeded).toBe(came > maxBytes);
        expect(capture.length).toBe(Math.min(came, maxBytes));
        for (const stream of ['stdout', 'stderr'] as const) {
          expect(Buffer.compare(capture.bytes(stream), Uint8Array.from(kept[stream]))).toBe(0);
        }
      }),
    );
  });
});

describe('ByteStore', () => {
  it('gives what came, in its order, however the pieces were cut', () => {
    const size = fc.oneof(fc.nat(64), fc.integer({ min: 16_380, max: 16_390 }), fc.nat(70_000));
    fc.assert(
      fc.property(fc.array(fc.tuple(size, fc.nat(255), fc.boolean()), { maxLength: 12 }), (pieces) => {
        const store = new ByteStore();
        const expected: Uint8Array[] = [];
        for (const [length, value, isSlice] of pieces) {
          // A small part of a large buffer must not keep all of it.
          const bytes = isSlice
            ? new Uint8Array(length * 3 + 9).subarray(5, 5 + length)
            : new Uint8Array(length);
          bytes.fill(value);
          store.append(bytes);
          expected.push(bytes);
        }
        const all = Buffer.concat(expected);
        expect(store.length).toBe(all.length);
        expect(Buffer.from(store.bytes()).equals(all)).toBe(true);
        expect(Buffer.from(store.tail(20)).equals(all.subarray(-20))).toBe(true);
      }),
    );
  });
});

describe('OutputCapture of a dialogue', () => {
  test('hands everything on, counts it, and keeps only the beginning of the errors', () => {
    const passage = new OutputCapture('dialogue');
    const chunk = new Uint8Array(40_000).fill(7);
    for (let i = 0; i < 3; i++) {
      expect(passage.take('stdout', chunk)).toBe(chunk);
      expect(passage.take('stderr', chunk)).toBe(chunk);
    }
    expect(passage.length).toBe(240_000);
    expect(passage.quotaExceeded).toBe(false);
    expect(passage.bytes('stdout')).toHaveLength(0);
    expect(passage.bytes('stderr')).toHaveLength(65_536);
    expect({ kept: passage.keptBytes, isCut: passage.isCut }).toEqual({ kept: 65_536, isCut: true });
  });
});

const encode = (text: string) => new TextEncoder().encode(text);
const bytes = (...values: number[]) => Uint8Array.from(values);
const base64 = (raw: Uint8Array) => ({ base64: Buffer.from(raw).toString('base64') });
const anyText = fc.string({ unit: CHARACTER });

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
