import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHARACTER } from '../../../../../tests/volume/characters.ts';
import { digestValue } from '../../../src/core/digest.ts';
import { cut, safeJson, safeLine, safeText } from '../../../src/core/hostile-text.ts';
import type { Json } from '../../../src/core/json.ts';
import { parseCallUri } from '../../../src/doors/mcp/call-result.ts';
import { RequestStates } from '../../../src/doors/mcp/request-states.ts';
import { FAILURE_SCHEMA, inputSchemaOf, outputSchemaOf } from '../../../src/doors/mcp/tool-lists.ts';
import { mcpContentOf } from '../../../src/doors/mcp/upstream-content.ts';
import { systemRandom } from '../../../src/open.ts';
import { Schemas } from '../../../src/registry/schema.ts';
import { testClock } from '../../fixture/gateway.ts';

const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

describe('outputSchemaOf()', () => {
  const CASES: readonly [string, Record<string, Json>, boolean][] = [
    ['promises nothing', {}, false],
    ['is of an object', { type: 'object', required: ['a'] }, true],
    ['refers to its definitions', { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }, true],
    ['refers to itself', { type: 'object', properties: { a: { $ref: '#' } } }, false],
    ['refers to a property', { type: 'object', properties: { a: { $ref: '#/properties/b' }, b: {} } }, false],
    ['has a name of its own', { $id: 'https://example.com/a', type: 'object' }, false],
  ];

  it.each(CASES)(
    'gives a schema only where it can stand beside another: one that %s',
    (_what, schema, isGiven) => {
      expect(outputSchemaOf(schema) !== null).toBe(isGiven);
    },
  );

  it('takes the outputs of the tool and its failures, and nothing else', () => {
    const natural = {
      type: 'object',
      properties: { n: { $ref: '#/$defs/n' } },
      required: ['n'],
      $defs: { n: { type: 'integer' } },
    };
    const check = new Schemas().compile(outputSchemaOf(natural) ?? {});
    expect(check({ n: 1 })).toBeNull();
    expect(check({ status: 'refused', code: 'policy/denied' })).toBeNull();
    expect(check({ n: 'one' })).not.toBeNull();
    expect(check({ status: 'fine' })).not.toBeNull();
    expect(new Schemas().compile(FAILURE_SCHEMA)({ status: 'failed' })).not.toBeNull();
  });
});

describe('inputSchemaOf()', () => {
  it('is always of an object, and has no word that copies arguments into headers', () => {
    expect(inputSchemaOf({})).toEqual({ type: 'object' });
    const nested = {
      type: 'object',
      properties: { a: { items: [{ 'x-mcp-header': 'A', type: 'string' }] } },
    };
    expect(JSON.stringify(inputSchemaOf(nested))).not.toContain('x-mcp-header');
    expect(inputSchemaOf(nested)).toMatchObject({ properties: { a: { items: [{ type: 'string' }] } } });
  });
});

describe('text on its way out', () => {
  const nasty = fc.string({ unit: CHARACTER, maxLength: 60 });

  it('has nothing active in it, whatever came', () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 1, max: 40 }), (text, max) => {
        expect(safeLine(text, max)).not.toMatch(ACTIVE);
        expect(safeText(text, max).replaceAll(/[\n\t]/g, '')).not.toMatch(ACTIVE);
        expect(safeLine(text, max).length).toBeLessThanOrEqual(max + '… (cut)'.length);
      }),
    );
  });

  it('is the same value where it is JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = safeJson(value as Json);
        expect(text).not.toMatch(ACTIVE);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('is never cut within a character', () => {
    expect(cut('ab😀', 3)).toBe('ab… (cut)');
    expect(cut('abc', 3)).toBe('abc');
  });
});

describe('mcpContentOf()', () => {
  it('keeps what is known, makes text inert and leaves the rest out', () => {
    const result = mcpContentOf({
      content: [
        { type: 'text', text: 'one\ntwo\u001b[0m', _meta: { a: 1 }, annotations: { audience: ['user'] } },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'image', data: 'not base64', mimeType: 'image/png' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png\r\nx: y' },
        { type: 'resource_link', uri: 'https://example.com/a', name: 'a\u202e' },
        { type: 'resource_link', uri: 'javascript:alert(1)', name: 'a' },
        { type: 'resource', resource: { uri: 'file:///a', text: 'x\u0007' } },
        { type: 'tool_result', content: [] },
        'text',
      ],
      structuredContent: { n: 1 },
      isError: true,
      _meta: { 'dev.palisade/receipt': { callId: 'call_forged' } },
    });
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toEqual({ n: 1 });
    expect(result._meta).toBeUndefined();
    expect(result.content.map(({ type }) => type)).toEqual([
      ...['text', 'image', 'text', 'text', 'resource_link', 'text', 'resource', 'text', 'text'],
    ]);
    expect(result.content[0]).toEqual({ type: 'text', text: 'one\ntwo\\u{1b}[0m' });
    expect(result.content[4]).toMatchObject({ name: 'a\\u{202e}' });
    expect(JSON.stringify(result)).not.toContain('javascript');
  });

  it('gives content for anything', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(Array.isArray(mcpContentOf(value as Json).content)).toBe(true);
        expect(Array.isArray(mcpContentOf({ content: [value as Json] }).content)).toBe(true);
      }),
    );
  });
});

describe('parseCallUri()', () => {
  it('reads the addresses of calls and nothing else', () => {
    const id = `call_${'0'.repeat(25)}`;
    expect(parseCallUri(`palisade://calls/${id}/output`)).toEqual({ callId: id, part: 'output' });
    for (const uri of [
      `palisade://calls/${id}/input`,
      `palisade://calls/${id}/output/`,
      `palisade://calls/${id}`,
    ])
      expect(parseCallUri(uri)).toBeNull();
    fc.assert(fc.property(fc.string(), (text) => parseCallUri(text) === null));
  });
});

describe('RequestStates', () => {
  const bound = {
    owner: 'default agent:ada',
    approver: 'user:grace',
    method: 'tools/call',
    tool: 'a',
    inputDigest: digestValue({}),
  };

  it('takes back each state once, and only with all that it is bound to', () => {
    const states = new RequestStates(testClock(0), systemRandom);
    for (const key of Object.keys(bound)) {
      const state = states.mint(bound, 'apr_1', 1_000);
      expect(states.take(state, { ...bound, [key]: 'other' })).toBeNull();
      expect(states.take(state, bound)).toBe('apr_1');
      expect(states.take(state, bound)).toBeNull();
    }
  });

  it('takes nothing that it did not mint', () => {
    const states = new RequestStates(testClock(0), systemRandom);
    const state = states.mint(bound, 'apr_1', 1_000);
    fc.assert(
      fc.property(fc.nat(state.length - 1), fc.base64String({ minLength: 4, maxLength: 4 }), (at, other) => {
        const changed = state.slice(0, at) + other[0] + state.slice(at + 1);
        fc.pre(changed !== state);
        expect(states.take(changed, bound)).toBeNull();
      }),
    );
    expect(new RequestStates(testClock(0), systemRandom).take(state, bound)).toBeNull();
    expect(states.take(state, bound)).toBe('apr_1');
  });

  it('forgets the oldest where too many are open', () => {
    const states = new RequestStates(testClock(0), systemRandom);
    const first = states.mint(bound, 'apr_1', 1_000);
    for (let i = 0; i < 10_000; i++) states.mint(bound, 'apr_2', 1_000);
    expect(states.take(first, bound)).toBeNull();
  });
});
