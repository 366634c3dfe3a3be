import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { readResult } from '../../../src/invoke/upstreams/result.ts';

describe('readResult()', () => {
  test('keeps what every client knows, and nothing else', () => {
    const raw = {
      content: [
        { type: 'text', text: 'a', annotations: { audience: ['user'] } },
        { type: 'image', data: 'AA==', mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'file:///a', text: 'b', _meta: {} } },
        { type: 'script', run: 'x' },
        'nothing',
      ],
      structuredContent: { a: 1 },
      _meta: { secret: 1 },
    };
    expect(readResult(raw, 10_000).result).toEqual({
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', data: 'AA==', mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'file:///a', text: 'b' } },
      ],
      structuredContent: { a: 1 },
    });
  });

  test('never gives more bytes than a call may, and says that it cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary' })),
        fc.integer({ min: 100, max: 500 }),
        (texts, most) => {
          const raw: JsonObject = {
            content: texts.map((text) => ({ type: 'text', text: text.replaceAll(/\p{Surrogate}/gu, '') })),
          };
          const { result, isCut } = readResult(raw, most);
          expect(isCut).toBe(Buffer.byteLength(JSON.stringify(raw)) > most);
          expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(most);
        },
      ),
    );
  });

  test.each([{}, { content: 'text' }, { resultType: 'input_required', content: [] }])('refuses %j', (raw) => {
    expect(() => readResult(raw as JsonObject, 1000)).toThrow();
  });
});
