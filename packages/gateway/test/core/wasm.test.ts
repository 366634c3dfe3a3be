import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import { isCapabilityName } from '../../src/core/wasm.ts';

const INNER = 'abcdefghijklmnopqrstuvwxyz0123456789._-';
const OUTER = INNER.slice(0, 36);

/** The grammar once more, character by character. */
function oracle(text: string): boolean {
  if (text.length < 1 || text.length > 64) return false;
  const [first = '', last = ''] = [text.at(0), text.at(-1)];
  return OUTER.includes(first) && OUTER.includes(last) && [...text].every((char) => INNER.includes(char));
}

describe('isCapabilityName()', () => {
  it.each(['a', '7', 'github', 'api.github.com', 'db_password-2', 'a..b', 'x'.repeat(64)])(
    'accepts "%s"',
    (name) => {
      expect(isCapabilityName(name)).toBe(true);
    },
  );

  it.each([
    ['the empty text', ''],
    ['65 characters', 'x'.repeat(65)],
    ['upper case', 'GitHub'],
    ['a dot in front', '.hidden'],
    ['a dash at the end', 'token-'],
    ['two dots', '..'],
    ['a path', 'a/b'],
    ['a space', 'a b'],
    ['a line end', 'token\n'],
    ['a NUL', 'a\0b'],
    ['a letter beyond ASCII', 'päss'],
    ['a look-alike dot', 'a\u2024b'],
    ['the Kelvin sign, which becomes a k', '\u212a'],
  ])('refuses %s', (_, name) => {
    expect(isCapabilityName(name)).toBe(false);
  });

  it('agrees with the grammar on arbitrary texts', () => {
    const near = fc.string({
      unit: fc.constantFrom(...INNER, 'A', '/', ' ', '\n', 'é'),
      maxLength: 70,
    });
    fc.assert(
      fc.property(fc.oneof(near, fc.string({ unit: CHARACTER })), (text) => {
        expect(isCapabilityName(text)).toBe(oracle(text));
      }),
      { numRuns: volume(2000, 30) },
    );
  });
});
