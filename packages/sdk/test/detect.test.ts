import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../tests/volume/characters.ts';
import { detectDocument } from '../src/index.ts';
import { vectors } from './signer.ts';

describe('detectDocument()', () => {
  test.each([
    ['receipt', vectors.receipt],
    ['receipt', JSON.stringify(JSON.parse(vectors.receipt), null, 2)],
    ['proof', vectors.proof],
    ['proof', JSON.stringify(JSON.parse(vectors.proof), null, '\t')],
    ['key', vectors.keyFile],
    ['journal', vectors.journal],
    ['unknown', vectors.checkpoint],
    ['unknown', ''],
    ['unknown', '{"__proto__":1}'],
    ['unknown', '[1]'],
  ])('finds a document of kind %s', (kind, text) => {
    expect(detectDocument(text)).toBe(kind);
    expect(detectDocument(text.slice(0, 40))).toBe(kind);
  });

  test('answers for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER }), (text) => {
        expect(['receipt', 'proof', 'key', 'journal', 'unknown']).toContain(detectDocument(text));
      }),
    );
  });
});
