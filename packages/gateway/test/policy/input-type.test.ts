import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import type { Json } from '../../src/core/json.ts';
import type { JsonSchema } from '../../src/core/tool.ts';
import { loadCedar } from '../../src/policy/cedar.ts';
import { inputToCedar, planInput, printType, quote } from '../../src/policy/input-type.ts';
import { schemaFor } from '../../src/policy/schema.ts';

const object = (properties: Record<string, Json>, required: string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
});

const text = { type: 'string' };
const rows: readonly [string, JsonSchema, string][] = [
  ['a string', object({ a: text }, ['a']), '{ "a": String }'],
  ['an optional string', object({ a: text }), '{ "a"?: String }'],
  ['an integer', object({ a: { type: 'integer' } }, ['a']), '{ "a": Long }'],
  ['a boolean', object({ a: { type: 'boolean' } }, ['a']), '{ "a": Bool }'],
  ['a number', object({ a: { type: 'number' } }, ['a']), '{ "a": { floor: Long, text: String } }'],
  ['an array', object({ a: { type: 'array', items: text } }, ['a']), '{ "a": Set<String> }'],
  ['a nested object', object({ a: object({ b: text }) }, ['a']), '{ "a": { "b"?: String } }'],
  ['a type list with null', object({ a: { type: ['string', 'null'] } }, ['a']), '{ "a"?: String }'],
  ['a union with null', object({ a: { anyOf: [text, { type: 'null' }] } }, ['a']), '{ "a"?: String }'],
  ['a nullable', object({ a: { type: 'string', nullable: true } }, ['a']), '{ "a"?: String }'],
  ['another union', object({ a: { anyOf: [text, { type: 'integer' }] } }, ['a']), '{ "a": String }'],
  ['no type', object({ a: {} }, ['a']), '{ "a": String }'],
  ['true', object({ a: true }), '{ "a"?: String }'],
  ['false', object({ a: false }), '{}'],
  ['a free object', object({ a: { type: 'object' } }), '{ "a"?: String }'],
  ['an array of anything', object({ a: { type: 'array' } }), '{ "a"?: String }'],
  ['a tuple', object({ a: { type: 'array', prefixItems: [text], items: text } }), '{ "a"?: String }'],
  ['no object at all', { type: 'string' }, '{}'],
  ['an object that may be null', { ...object({ a: text }), type: ['object', 'null'] }, '{}'],
  [
    'names that Cedar would read as escapes',
    object({ __entity: text, __extn: text, __expr: text, a: text }),
    '{ "a"?: String }',
  ],
];

describe('planInput()', () => {
  test.each(rows)('gives %s its Cedar type', (_, schema, expected) => {
    expect(printType(planInput(schema))).toBe(expected);
  });

  test('turns what is nested beyond its depth into text', () => {
    let schema: JsonSchema = text;
    for (let i = 0; i < 500; i++) schema = object({ a: schema }, ['a']);
    const type = printType(planInput(schema));
    expect(type.split('{').length).toBeLessThan(12);
    expect(type).toContain('String');
  });

  test('does not take a `__proto__` property for a field', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"a":{"type":"string"}}}',
    );
    expect(printType(planInput(schema))).toBe('{ "a"?: String }');
  });
});

describe('inputToCedar()', () => {
  const convert = (schema: JsonSchema, value: Json) => inputToCedar(planInput(schema), value);

  test('copies only what is declared', () => {
    expect(convert(object({ a: text }), { a: 'x', b: 'y' })).toEqual({ a: 'x' });
  });

  test('leaves a null of a nullable field out', () => {
    expect(convert(object({ a: { type: ['string', 'null'] } }, ['a']), { a: null })).toEqual({});
  });

  test('gives a number its floor and its text', () => {
    expect(convert(object({ a: { type: 'number' } }), { a: -1.5 })).toEqual({
      a: { floor: -2, text: '-1.5' },
    });
  });

  test('gives what Cedar has no word for as canonical JSON', () => {
    const value = { b: 1, a: { __entity: { type: 'User', id: 'bob' } } };
    expect(convert(object({ a: {} }), { a: value })).toEqual({
      a: '{"a":{"__entity":{"id":"bob","type":"User"}},"b":1}',
    });
  });

  test.each([
    ['a fraction', { type: 'integer' }, 1.5],
    ['a number beyond the safe range', { type: 'integer' }, 2 ** 60],
    ['a text', { type: 'integer' }, '1'],
    ['a null that is not declared', { type: 'string' }, null],
    ['an object', { type: 'array', items: text }, {}],
  ])('throws on %s where the schema says otherwise', (_, property, value) => {
    expect(() => convert(object({ a: property }), { a: value })).toThrow(TypeError);
  });
});

describe('a schema and a value that fits it', () => {
  const cedar = loadCedar();
  const name = fc.oneof(
    fc.string({ minLength: 0, maxLength: 6 }),
    fc.string({ unit: CHARACTER, maxLength: 4 }),
  );
  type Sample = { schema: JsonSchema; value: Json };
  const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
    sample: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.string({ unit: CHARACTER }).map((value) => ({ schema: { type: 'string' }, value })),
      fc.maxSafeInteger().map((value) => ({ schema: { type: 'integer' }, value })),
      fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
      fc
        .double({ noNaN: true, min: -1e15, max: 1e15 })
        .map((value) => ({ schema: { type: 'number' }, value })),
      fc
        .jsonValue()
        .filter(isSafe)
        .map((value) => ({ schema: {}, value: value as Json })),
      tie('sample').map(({ schema, value }) => ({
        schema: { type: 'array', items: schema },
        value: [value, value],
      })),
      fc.dictionary(name, tie('sample'), { maxKeys: 4 }).map(objectSample),
    ),
  }));

  /** The strict reader lets nothing else through. */
  function isSafe(value: unknown): boolean {
    if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
    return typeof value !== 'object' || value === null || Object.values(value).every(isSafe);
  }

  function objectSample(fields: Record<string, Sample>): Sample {
    const entries = Object.entries(fields);
    return {
      schema: object(
        Object.fromEntries(entries.map(([key, { schema }]) => [key, schema])),
        entries.map(([key]) => key),
      ),
      value: Object.fromEntries(entries.map(([key, { value }]) => [key, value])),
    };
  }

  test('are always a type and a value that Cedar accepts together', () => {
    fc.assert(
      fc.property(fc.dictionary(name, sample, { maxKeys: 4 }).map(objectSample), ({ schema, value }) => {
        const plan = planInput(schema);
        const input = inputToCedar(plan, value);
        const type = printType(plan);
        const toolless = `entity A; action a appliesTo { principal: A, resource: A, context: { input: Input } };`;
        const answer = cedar.checkParseContext({
          context: { input },
          schema: `${toolless} type Input = ${type};`,
          action: { type: 'Action', id: 'a' },
        });
        expect(answer).toEqual({ type: 'success' });
        expect(cedar.checkParseSchema(schemaFor(type))).toEqual({ type: 'success' });
      }),
      { numRuns: volume(150, 30) },
    );
  });

  test('quote() writes every text as a literal that Cedar reads back', () => {
    fc.assert(
      fc.property(fc.string({ unit: CHARACTER }), (value) => {
        const answer = cedar.policyToJson(
          `permit(principal, action, resource) when { context.a == ${quote(value)} };`,
        );
        expect(JSON.stringify(answer)).toContain(JSON.stringify({ Value: value }));
      }),
    );
  });
});
