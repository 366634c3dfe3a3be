import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { BodyDecoder, type Coding, codingOf } from '../../../src/egress/fetch/decompress.ts';
import type { Fetched } from '../../../src/egress/fetch/outcome.ts';
import { cutAt } from '../http1/read.ts';

const PACK = {
  identity: (bytes: Buffer) => bytes,
  gzip: (bytes: Buffer) => gzipSync(bytes),
  deflate: (bytes: Buffer) => deflateSync(bytes),
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
} as const;
const CODINGS = Object.keys(PACK) as Coding[];
/** What brotli makes of less has hardly a byte for each piece. */
const LEAST_BOMB = { identity: 0, gzip: 80_000_000, deflate: 80_000_000, br: 300_000_000 };
const PACKED = CODINGS.filter((coding) => coding !== 'identity');
const LIMITS = { responseBytes: 1_000_000, expansionRatio: 200 };

/** Decodes pieces, and tells how many of them it took. */
async function decode(coding: Coding, pieces: readonly Buffer[], limits = LIMITS) {
  const decoder = new BodyDecoder(coding, limits);
  let taken = 0;
  try {
    for (const piece of pieces) {
      taken += 1;
      const failure = await decoder.write(piece);
      if (failure !== null) return { result: failure as Fetched<Uint8Array>, taken };
    }
    return { result: await decoder.end(), taken };
  } finally {
    decoder.destroy();
  }
}

function encodings(value: string) {
  return [{ name: 'content-encoding', rawName: 'Content-Encoding', value }];
}

describe('codingOf()', () => {
  it.each([
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['deflate', 'deflate'],
    ['br', 'br'],
    ['identity', 'identity'],
    ['', 'identity'],
  ])('knows %j', (value, expected) => {
    expect(codingOf(encodings(value))).toEqual({ ok: true, value: expected });
  });

  it.each([
    'gzip, gzip',
    'gzip,br',
    'identity, gzip',
    'zstd',
    'compress',
    'aes128gcm',
    'constructor',
    'a b',
    ';',
  ])('refuses %j', (value) => {
    expect(codingOf(encodings(value))).toMatchObject({ ok: false, problem: { code: 'malformed' } });
  });

  it('refuses one that stands on two lines', () => {
    expect(codingOf([...encodings('gzip'), ...encodings('gzip')])).toMatchObject({
      problem: { code: 'malformed' },
    });
  });
});

describe('a decoder', () => {
  it('gives back what was packed, whatever the pieces', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...CODINGS),
        fc.uint8Array({ maxLength: 3_000 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        async (coding, bytes, places) => {
          const pieces = cutAt(PACK[coding](Buffer.from(bytes)), places);
          const { result } = await decode(coding, pieces);
          expect(result.ok && Buffer.from(result.value).equals(bytes)).toBe(true);
        },
      ),
      { numRuns: volume(200, 30) },
    );
  });

  it.each(PACKED)('refuses %s that is cut, changed or followed by something', async (coding) => {
    const whole = PACK[coding](Buffer.from('hello '.repeat(1_000)));
    const rest = Buffer.from('rest');
    const broken = Buffer.from(whole).fill(0xff, 2, whole.length - 1);
    const cases: Record<string, readonly Buffer[]> = {
      cut: [whole.subarray(0, -1)],
      'cut in half': [whole.subarray(0, whole.length / 2)],
      changed: [broken],
      followed: [Buffer.concat([whole, rest])],
      'followed later': [whole, rest],
      'something else': [Buffer.from('hello, this is plain text')],
    };
    expect((await decode(coding, [whole])).result).toMatchObject({ ok: true });
    for (const [what, pieces] of Object.entries(cases)) {
      const { result } = await decode(coding, pieces);
      expect([what, result]).toMatchObject([what, { ok: false, problem: { code: 'malformed' } }]);
    }
  });

  it('refuses deflate without its frame, which some servers send', async () => {
    const { result } = await decode('deflate', [deflateRawSync('hello')]);
    expect(result).toMatchObject({ ok: false, problem: { code: 'malformed' } });
  });

  it.each(CODINGS)('takes no body for an empty one in %s', async (coding) => {
    expect((await decode(coding, [])).result).toMatchObject({ ok: true, value: new Uint8Array(0) });
    expect((await decode(coding, [Buffer.alloc(0)])).result.ok).toBe(true);
  });

  it.each(CODINGS)('gives so many bytes of %s and not one more', async (coding) => {
    const limits = { responseBytes: 100_000, expansionRatio: 1e9 };
    expect((await decode(coding, [PACK[coding](Buffer.alloc(100_000))], limits)).result.ok).toBe(true);
    expect((await decode(coding, [PACK[coding](Buffer.alloc(100_001))], limits)).result).toMatchObject({
      ok: false,
      problem: {
        code: 'too-large',
        why: 'Cannot use body of response: it is too long, expected at most 100000 bytes',
      },
    });
  });

  it.each(PACKED)('stops a bomb in %s long before its end', async (coding) => {
    const bomb = PACK[coding](Buffer.alloc(volume(300_000_000, LEAST_BOMB[coding])));
    const pieces = cutAt(
      bomb,
      Array.from({ length: 200 }, (_, index) => Math.ceil((bomb.length * index) / 200)),
    );
    for (const limits of [
      { responseBytes: 1_000_000, expansionRatio: 1e9 },
      { responseBytes: 1e9, expansionRatio: 200 },
    ]) {
      const { result, taken } = await decode(coding, pieces, limits);
      expect(result).toMatchObject({ ok: false, problem: { code: 'too-large' } });
      expect(taken).toBeLessThan(pieces.length / 10);
    }
  });

  it('does not take a short text that is very even for a bomb', async () => {
    const packed = gzipSync(Buffer.alloc(200_000));
    expect(200_000 / packed.length).toBeGreaterThan(LIMITS.expansionRatio);
    expect((await decode('gzip', [packed])).result.ok).toBe(true);
  });
});
