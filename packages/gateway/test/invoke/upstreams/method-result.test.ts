import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CodedError } from '../../../src/core/coded-error.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import type { UpstreamMethod } from '../../../src/core/tool.ts';
import { readMethodResult } from '../../../src/invoke/upstreams/method-result.ts';

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
    ['prompts/get', { resultType: 'input_required', messages: [] }, 'with a question'],
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
