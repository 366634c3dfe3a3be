import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import type { Json } from '../../src/core/json.ts';
import type { JsonSchema } from '../../src/core/tool.ts';
import { looseMessage } from '../../src/executors/upstream/peer.ts';
import { planInput } from '../../src/policy/input-type.ts';
import { Schemas } from '../../src/registry/schema.ts';
import { publishedSchema, STRUCTURED, tidySchema } from '../../src/registry/upstream-schema.ts';

function check(schema: JsonSchema, value: Json): string | null {
  return new Schemas().compile(tidySchema(schema))(value);
}

/** Schemas of all kinds, sound and broken, around others. */
function around(inner: fc.Arbitrary<object>): fc.Arbitrary<object> {
  const few = { maxKeys: 2 };
  return fc.record(
    {
      type: fc.oneof(fc.constantFrom('object', 'array', 'string', 'integer', 'null', 'x'), fc.jsonValue()),
      properties: fc.oneof(fc.dictionary(fc.string(), inner, few), fc.jsonValue()),
      required: fc.oneof(fc.array(fc.string(), { maxLength: 3 }), fc.jsonValue()),
      additionalProperties: fc.oneof(fc.boolean(), inner),
      patternProperties: fc.dictionary(fc.string(), inner, { maxKeys: 1 }),
      items: fc.oneof(fc.jsonValue(), inner),
      anyOf: fc.oneof(fc.array(inner, { maxLength: 2 }), fc.jsonValue()),
      $defs: fc.dictionary(fc.constantFrom('a', 'b'), inner, few),
      $ref: fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/properties/x', '#/anyOf/0', 'x:y'),
      enum: fc.oneof(fc.array(fc.jsonValue(), { maxLength: 2 }), fc.jsonValue()),
      const: fc.jsonValue(),
      pattern: fc.string(),
      minLength: fc.oneof(fc.integer(), fc.jsonValue()),
      maximum: fc.oneof(fc.integer(), fc.jsonValue()),
      uniqueItems: fc.boolean(),
      format: fc.string(),
      default: fc.jsonValue(),
      description: fc.string(),
      nullable: fc.boolean(),
    },
    { requiredKeys: [] },
  );
}

describe('tidySchema()', () => {
  test.each<[string, JsonSchema, Json, Json]>([
    [
      'what generators of JSON Schema write',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: { url: { type: 'string', format: 'uri' }, max: { type: 'integer', exclusiveMinimum: 0 } },
        required: ['url'],
        additionalProperties: false,
      },
      { url: 'x', max: 1 },
      { max: 1 },
    ],
    [
      'alternatives that only say what is required',
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
      },
      { b: 'x' },
      {},
    ],
    [
      'references to definitions',
      {
        type: 'object',
        properties: { tree: { $ref: '#/$defs/tree' } },
        $defs: { tree: { type: 'object', properties: { left: { $ref: '#/$defs/tree' } } } },
      },
      { tree: { left: {} } },
      { tree: { left: 1 } },
    ],
    [
      'a list of types',
      { type: 'object', properties: { a: { type: ['string', 'null'] } } },
      { a: null },
      { a: 1 },
    ],
    [
      'a pattern of plain parts',
      { type: 'object', properties: { a: { type: 'string', pattern: '^[a-z]{2}$' } } },
      { a: 'ab' },
      { a: 'abc' },
    ],
  ])('holds an input against %s', (_, schema, good, bad) => {
    expect(check(schema, good)).toBeNull();
    expect(check(schema, bad)).not.toBeNull();
  });

  test.each<[string, JsonSchema]>([
    ['a reference elsewhere', { type: 'object', properties: { a: { $ref: 'https://example.com/x' } } }],
    ['a reference to nothing', { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }],
    [
      'a pattern that looks around',
      { type: 'object', properties: { a: { type: 'string', pattern: '(?=a)b' } } },
    ],
    ['a pattern that is none', { type: 'object', properties: { a: { type: 'string', pattern: '[' } } }],
    ['conditions', { type: 'object', if: { required: ['a'] }, properties: {} }],
    ['a type that nobody knows', { type: 'object', properties: { a: { type: 'date' } } }],
    ['a dynamic reference', { type: 'object', $dynamicRef: '#x', $async: true, $id: 'palisade' }],
  ])('lets through what it cannot hold: %s', (_, schema) => {
    expect(check(schema, { a: 'anything' })).toBeNull();
  });

  test('gives up on a schema that would cost more than it checks', () => {
    const defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    );
    const bomb = { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: { ...defs, d40: {} } };
    expect(tidySchema(bomb)).toEqual({ type: 'object', properties: { a: {} } });
  });

  test('takes hidden characters out of what a model reads', () => {
    const schema = { type: 'object', properties: { a: { description: 'a\u200bb\u202ec\nd' } } };
    expect(tidySchema(schema)).toMatchObject({ properties: { a: { description: 'abc\nd' } } });
  });

  test('makes something that compiles and that policies can be told of, whatever comes in', () => {
    const leaf = fc.record(
      { type: fc.constantFrom('string', 'x'), pattern: fc.string() },
      { requiredKeys: [] },
    );
    let schema: fc.Arbitrary<object> = leaf;
    for (let depth = 0; depth < 3; depth++) schema = around(schema);
    fc.assert(
      fc.property(schema, fc.constantFrom('#' as const, STRUCTURED), (raw, at) => {
        const text = JSON.stringify({ ...raw, type: 'object' });
        const supplied = looseMessage(Buffer.from(text), 64) as JsonSchema;
        const tidied = tidySchema(supplied, at);
        const whole = at === '#' ? tidied : { type: 'object', properties: { structuredContent: tidied } };
        expect(typeof new Schemas().compile(whole)({})).not.toBe('undefined');
        expect(planInput(tidied).kind).toBe('record');
      }),
      { numRuns: volume(300, 30) },
    );
  });
});

describe('publishedSchema()', () => {
  test('leaves every keyword as the server wrote it', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $defs: { a: { $anchor: 'a', type: 'string', format: 'email' } },
      type: 'object',
      properties: { kind: { const: 'x' }, mail: { $ref: '#a' } },
      if: { properties: { kind: { const: 'x' } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { required: ['mail'] },
      else: { not: { required: ['mail'] } },
      oneOf: [{ required: ['kind'] }, { dependentRequired: { kind: ['mail'] } }],
    };
    expect(publishedSchema(schema)).toEqual(schema);
  });

  test('sends no client to another address, and hides nothing', () => {
    const schema = {
      description: 'plain\u200btext',
      properties: {
        a: { $ref: 'https://evil.example/a' },
        b: { $ref: '#/$defs/b', $dynamicRef: '//evil.example' },
      },
    };
    expect(publishedSchema(schema)).toEqual({
      description: 'plaintext',
      properties: { a: {}, b: { $ref: '#/$defs/b' } },
    });
  });
});
