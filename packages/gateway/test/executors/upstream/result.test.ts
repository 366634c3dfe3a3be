import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { CodedError } from '../../../src/core/coded-error.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import type { UpstreamMethod } from '../../../src/core/tool.ts';
import { readMethodResult, readResult } from '../../../src/executors/upstream/result.ts';

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
        fc.array(fc.string({ unit: CHARACTER })),
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

const MAX = 10_000;
const outputOf = (method: UpstreamMethod, raw: JsonObject, max = MAX) =>
  readMethodResult(method, raw, max).output;

describe('readMethodResult()', () => {
  it('keeps of a resource what is known, and nothing else', () => {
    const content = { uri: 'test://a', mimeType: 'text/plain', text: 'hello', _meta: { x: 1 }, more: 'x' };
    expect(outputOf('resources/read', { contents: [content, 7], _meta: {} })).toEqual({
      contents: [{ uri: 'test://a', mimeType: 'text/plain', text: 'hello' }],
    });
  });

  it('keeps of a prompt the messages of known roles with content of known kinds', () => {
    const text = { type: 'text', text: 'hello' };
    const messages = [
      { role: 'user', content: text },
      { role: 'system', content: text },
      { role: 'assistant', content: { type: 'teapot' } },
    ];
    expect(outputOf('prompts/get', { description: 'Says hello.', messages })).toEqual({
      description: 'Says hello.',
      messages: [{ role: 'user', content: text }],
    });
  });

  it('keeps of completions a hundred texts', () => {
    const values = [7, ...Array.from({ length: 200 }, (_, i) => `v${i}`)];
    const { completion } = outputOf('completion/complete', { completion: { values, total: -1, hasMore: 1 } });
    expect(completion).toMatchObject({ hasMore: false });
    expect((completion as JsonObject).values).toHaveLength(100);
    expect(completion).not.toHaveProperty('total');
  });

  it.each([
    ['resources/read', {}, 'without contents'],
    ['prompts/get', { messages: 'x' }, 'without messages'],
    ['completion/complete', { completion: {} }, 'without completions'],
    ['prompts/get', { resultType: 'input_required', messages: [] }, 'with a request for more input'],
  ] as const)('turns down an answer to %s of another shape', (method, raw, why) => {
    expect(() => outputOf(method, raw as JsonObject)).toThrow(why);
  });

  it('turns down more bytes than a call may give', () => {
    const contents = [{ uri: 'test://a', text: 'x'.repeat(MAX) }];
    expect(() => outputOf('resources/read', { contents })).toThrow(`expected at most ${MAX}`);
    expect(outputOf('resources/read', { contents }, 2 * MAX)).toEqual({ contents });
  });

  it('gives an object or says why, whatever a server answers', () => {
    const methods = fc.constantFrom<UpstreamMethod>('resources/read', 'prompts/get', 'completion/complete');
    const raw = fc.dictionary(
      fc.constantFrom('contents', 'messages', 'completion', 'description', 'values'),
      fc.jsonValue({ maxDepth: 4 }),
    );
    fc.assert(
      fc.property(methods, raw, (method, answer) => {
        try {
          expect(typeof outputOf(method, answer as JsonObject)).toBe('object');
        } catch (error) {
          expect(error).toBeInstanceOf(CodedError);
        }
      }),
    );
  });
});
