import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import { loadCedar } from '../../src/policy/cedar.ts';
import { positionAt, scan } from '../../src/policy/parse.ts';

const texts = (text: string) => scan(text).pieces.map((piece) => piece.text);

describe('scan()', () => {
  test('splits policies at semicolons outside strings and comments', () => {
    const text = '// one; two\n@id("a;b") permit(x); // ; \r permit(y)\n when { "\\";" };  \n';
    expect(texts(text)).toEqual(['@id("a;b") permit(x);', 'permit(y)\n when { "\\";" };']);
  });

  test('counts brackets outside strings and comments', () => {
    expect(scan('// (((\n "((([[" ([{ }])').deepest).toBe(3);
  });

  test('finds the same policies as Cedar does, in the order of the file', () => {
    const cedar = loadCedar();
    const comment = fc.constantFrom('', '// c;(\n', '// "\r', '  \n', '//\n\n');
    const word = fc
      .string({ unit: CHARACTER, maxLength: 8 })
      .map((value) => JSON.stringify(value).replace(/[^ -~]|\\u.{4}|\\[bf]/g, '_'));
    const policy = fc
      .tuple(comment, word, comment)
      .map(([a, w, b]) => `${a}permit(principal, ${b} action, resource) when { ${w} == ${w} };`);
    fc.assert(
      fc.property(fc.array(policy, { maxLength: 13 }), comment, (policies, tail) => {
        const text = policies.join('\n') + tail;
        const answer = cedar.policySetTextToParts(text);
        if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
        expect(texts(text).sort()).toEqual([...answer.policies].sort());
        for (const { text: piece, startByte } of scan(text).pieces) {
          expect(Buffer.from(text).subarray(startByte).toString().startsWith(piece)).toBe(true);
        }
      }),
      { numRuns: volume(50, 30) },
    );
  });

  test('never throws and never loses a character that matters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('"', '\\', '/', '\n', '(', ')', ';', 'a', 'ä', '😀') }),
        (text) => {
          const kept = texts(text).join('');
          expect(kept.split(';').length).toBeLessThanOrEqual(text.split(';').length);
        },
      ),
    );
  });

  test('reads a quarter of a megabyte of escaped quotes in one go', () => {
    const text = `"${'\\"'.repeat(130_000)}\\`;
    expect(texts(text)).toEqual([text]);
  });
});

describe('positionAt()', () => {
  test('counts characters where Cedar counts bytes', () => {
    const text = 'a\n"äöü😀" x';
    const byte = Buffer.from(text).indexOf('x');
    expect(positionAt(text, byte)).toEqual({ line: 2, column: 8 });
  });
});
