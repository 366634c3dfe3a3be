import { createCipheriv } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { entropyOf, isDense } from '../../src/read/entropy.ts';

/** The definition, without any shortcut. */
function byDefinition(bytes: Uint8Array): number {
  const shares = Array.from(
    { length: 256 },
    (_, value) => bytes.filter((byte) => byte === value).length / bytes.length,
  );
  return -shares.reduce((sum, share) => sum + (share === 0 ? 0 : share * Math.log2(share)), 0);
}

describe('entropyOf()', () => {
  it.each([
    ['nothing', [], 0],
    ['one value', [7, 7, 7, 7], 0],
    ['two values', [0, 255, 0, 255], 1],
    ['four values', [1, 2, 3, 4], 2],
    ['each value once', Array.from({ length: 256 }, (_, value) => value), 8],
  ])('of %s', (_what, bytes, bits) => {
    expect(entropyOf(new Uint8Array(bytes), 0, bytes.length)).toBeCloseTo(bits, 10);
  });

  it('is what its definition says', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (bytes) => {
        expect(entropyOf(bytes, 0, bytes.length)).toBeCloseTo(byDefinition(bytes), 8);
      }),
    );
  });

  it('looks at its range only, and leaves its counters clean for the next one', () => {
    const counts = new Uint32Array(256);
    const bytes = new Uint8Array([1, 2, 3, 3, 9]);
    expect(entropyOf(bytes, 2, 4, counts)).toBe(0);
    expect(entropyOf(bytes, 0, 2, counts)).toBe(1);
    expect(counts.every((count) => count === 0)).toBe(true);
  });
});

describe('isDense()', () => {
  const dense = (bytes: Uint8Array) => isDense(bytes.length, entropyOf(bytes, 0, bytes.length));

  it('tells what is encrypted from text and from zeros', () => {
    const cipher = createCipheriv('aes-128-ctr', new Uint8Array(16), new Uint8Array(16));
    const text = new TextEncoder().encode('The quick brown fox jumps over the lazy dog. '.repeat(200));
    expect(dense(cipher.update(text))).toBe(true);
    expect(dense(text)).toBe(false);
    expect(dense(new Uint8Array(9_000))).toBe(false);
  });

  it('says nothing about a few bytes', () => {
    expect(isDense(4_096, 8)).toBe(true);
    expect(isDense(4_095, 8)).toBe(false);
  });
});
