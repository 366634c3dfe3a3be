import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { ACTIVE, quote, safeJson } from '../../src/core/hostile-text.ts';

describe('quote()', () => {
  it('keeps plain text, and spells out what a terminal would obey or an eye would miss', () => {
    expect(quote('a "b" \u001b[2J\u202e\n')).toBe('"a \\"b\\" \\u001b[2J\\u{202e}\\n"');
    expect(quote('😀 é')).toBe('"😀 é"');
  });

  it('shows 120 characters of a long text and says that there was more', () => {
    expect(quote('x'.repeat(121))).toBe(`"${'x'.repeat(120)}…"`);
    expect(quote('x'.repeat(120))).toBe(`"${'x'.repeat(120)}"`);
  });

  it('gives one line without active characters for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER, maxLength: 300 }), (text) => {
        expect(quote(text).match(ACTIVE)).toBeNull();
      }),
    );
  });
});

describe('safeJson()', () => {
  it('is read by a parser as the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(safeJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
