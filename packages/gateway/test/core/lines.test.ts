import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lines } from '../../src/core/lines.ts';

describe('Lines', () => {
  it('gives the same lines however the bytes are cut', () => {
    const line = fc.string({ maxLength: 20 }).map((text) => text.replaceAll(/[\r\n]/g, '-'));
    fc.assert(
      fc.property(
        fc.array(line),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (lines, cuts) => {
          const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(''));
          const seen: string[] = [];
          const reader = new Lines(1_000, {
            onLine: (each) => seen.push(Buffer.from(each).toString()),
            onTooLong: () => seen.push('too long'),
          });
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const size = cuts[i % cuts.length] ?? 1;
            reader.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(seen).toEqual(lines.filter((each) => each !== ''));
        },
      ),
    );
  });

  it('says once that a line is too long, and goes on with the next', () => {
    const seen: string[] = [];
    const reader = new Lines(4, {
      onLine: (each) => seen.push(Buffer.from(each).toString()),
      onTooLong: () => seen.push('!'),
    });
    for (const chunk of ['abc', 'defg', 'hij', 'k\nab', 'cd\r\n', 'abcde\n\nok\n'])
      reader.push(Buffer.from(chunk));
    expect(seen).toEqual(['!', '!', '!', 'ok']);
  });
});
