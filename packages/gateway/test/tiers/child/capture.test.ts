import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteStore, Capture } from '../../../src/tiers/child/capture.ts';

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

describe('Capture', () => {
  const pieces = fc.array(fc.tuple(fc.constantFrom('stdout' as const, 'stderr' as const), chunk), {
    maxLength: 8,
  });

  it('keeps the first bytes of both streams up to one quota, and says whether there were more', () => {
    fc.assert(
      fc.property(pieces, fc.nat(30_000), (all, maxBytes) => {
        const capture = new Capture(maxBytes);
        const kept = { stdout: [] as number[], stderr: [] as number[] };
        let left = maxBytes;
        for (const [stream, each] of all) {
          const fits = each.subarray(0, left);
          expect(capture.take(stream, each)).toEqual(fits);
          kept[stream].push(...fits);
          left -= fits.length;
        }
        const came = all.reduce((sum, [, each]) => sum + each.length, 0);
        expect(capture.isPassed).toBe(came > maxBytes);
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
