import type { JsonSchema } from '../../../src/core/tool.ts';
import { TOOL } from './sample.ts';
import type { Trial } from './trial.ts';

const CLOSED = { type: 'object', additionalProperties: false } as const;
const input = (inputSchema: JsonSchema) => ({ change: { tool: { inputSchema } } });
const output = (outputSchema: JsonSchema) => ({ change: { tool: { outputSchema } } });
const text = (rest: JsonSchema) =>
  input({ ...CLOSED, properties: { text: { type: 'string', maxLength: 9, ...rest } } });

function nested(levels: number): JsonSchema {
  return levels === 1 ? CLOSED : { ...CLOSED, properties: { a: nested(levels - 1) } };
}

const many = (parts: number, part: JsonSchema): JsonSchema => ({
  ...CLOSED,
  properties: Object.fromEntries(Array.from({ length: parts }, (_, at) => [`p${at}`, part])),
});
/** Each step refers to the next one twice: a value is held against the last one two to the power of the steps times. */
const doubling = (steps: number): JsonSchema => ({
  ...CLOSED,
  properties: { a: { $ref: '#/$defs/d0' } },
  $defs: Object.fromEntries(
    Array.from({ length: steps }, (_, at) => [
      `d${at}`,
      at + 1 === steps
        ? { type: 'integer' }
        : { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  ),
});
/** What JSON has, as schemas have it. */
const anyJson: JsonSchema = {
  anyOf: [
    { type: ['string', 'number', 'boolean', 'null'] },
    { type: 'array', items: { $ref: '#/$defs/json' } },
    { type: 'object', additionalProperties: { $ref: '#/$defs/json' } },
  ],
};
const list = (rest: JsonSchema) =>
  input({ ...CLOSED, properties: { a: { type: 'array', uniqueItems: true, ...rest } } });

export const SCHEMA_TRIALS: readonly Trial[] = [
  {
    id: 'schema/slip',
    what: 'a keyword that is none',
    bad: input({ ...CLOSED, propertees: {} }),
    good: input(CLOSED),
  },
  {
    id: 'schema/invalid',
    what: 'a pattern that looks around',
    bad: text({ pattern: '^(?=a)$' }),
    good: text({ pattern: '^a$' }),
  },
  {
    id: 'schema/remote-reference',
    what: 'a schema of another place',
    bad: text({ $ref: 'https://example.com/schema.json' }),
    good: input({ ...CLOSED, properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'integer' } } }),
  },
  {
    id: 'schema/not-an-object',
    what: 'a text as the input',
    bad: input({ type: 'string', maxLength: 3 }),
    good: input(CLOSED),
  },
  {
    id: 'schema/open-input',
    what: 'an open input',
    bad: input({ type: 'object' }),
    good: input(CLOSED),
    where: 'the tool "words", input_schema',
  },
  {
    id: 'schema/open-input',
    what: 'an open object inside',
    bad: input({ ...CLOSED, properties: { a: { type: 'object', additionalProperties: true } } }),
    good: input({
      ...CLOSED,
      properties: { a: { type: 'object', additionalProperties: { type: 'integer' } } },
    }),
    where: 'the tool "words", input_schema at properties.a',
  },
  { id: 'schema/open-output', what: 'an open output', bad: output({ type: 'object' }), good: output(CLOSED) },
  {
    id: 'schema/anything',
    what: 'a value of any kind',
    bad: input({ ...CLOSED, properties: { a: { description: 'Anything.' } } }),
    good: input({ ...CLOSED, properties: { a: { anyOf: [{ type: 'integer' }, { type: 'null' }] } } }),
  },
  {
    id: 'schema/loose-pattern',
    what: 'a pattern without ends',
    bad: text({ pattern: '[a-z]+' }),
    good: text({ pattern: '^[a-z]+$' }),
  },
  {
    id: 'schema/loose-pattern',
    what: 'ends that hold one alternative each',
    bad: text({ pattern: '^a|b$' }),
    good: text({ pattern: '^(?:a|[|b])$' }),
  },
  {
    id: 'schema/loose-pattern',
    what: 'a dollar that is meant',
    bad: text({ pattern: '^a\\$' }),
    good: text({ pattern: '^a\\\\$' }),
  },
  {
    id: 'schema/long-pattern',
    what: 'a pattern of many characters',
    bad: text({ pattern: `^${'a'.repeat(256)}$` }),
    good: text({ pattern: '^a$' }),
  },
  {
    id: 'schema/too-large',
    what: 'a schema of many levels',
    bad: input(nested(17)),
    good: input(nested(16)),
    says: /17 levels deep/,
  },
  {
    id: 'schema/unbounded',
    what: 'a text of any length',
    bad: input({ ...CLOSED, properties: { a: { type: 'string' } } }),
    good: input({ ...CLOSED, properties: { a: { type: 'string', enum: ['x'] } } }),
  },
  {
    id: 'schema/unbounded',
    what: 'a list of any length',
    bad: input({ ...CLOSED, properties: { a: { type: 'array', items: { type: 'integer' } } } }),
    good: input({ ...CLOSED, properties: { a: { type: 'array', items: { type: 'integer' }, maxItems: 3 } } }),
  },
  {
    id: 'schema/loose-pattern',
    what: 'a pattern of keys without ends',
    bad: input({ ...CLOSED, patternProperties: { a: { type: 'integer' } } }),
    good: input({ ...CLOSED, patternProperties: { '^a$': { type: 'integer' } } }),
  },
  {
    id: 'schema/open-input',
    what: 'an open object that depends on a key',
    bad: input({
      ...CLOSED,
      properties: { a: { type: 'integer' } },
      dependencies: { a: { type: 'object', properties: { b: { type: 'object' } } } },
    }),
    good: input({
      ...CLOSED,
      properties: { a: { type: 'integer' } },
      dependencies: { a: { type: 'object', properties: { b: CLOSED } } },
    }),
    where: 'the tool "words", input_schema at dependencies.a.properties.b',
  },
  {
    id: 'schema/too-costly',
    what: 'references that double at every step',
    bad: input(doubling(40)),
    good: input(doubling(4)),
    says: /counts as \d+ parts with what it refers to, expected at most 1000/,
  },
  {
    id: 'schema/too-costly',
    what: 'a part that is written out hundreds of times',
    bad: input({ ...many(200, { $ref: '#/$defs/a' }), $defs: { a: many(200, { type: 'integer' }) } }),
    good: input({ ...many(20, { $ref: '#/$defs/a' }), $defs: { a: many(20, { type: 'integer' }) } }),
  },
  {
    id: 'schema/too-costly',
    what: 'a schema that comes back to itself twice at every level',
    bad: output({
      ...CLOSED,
      allOf: [
        { type: 'object', properties: { a: { $ref: '#' } } },
        { type: 'object', properties: { a: { $ref: '#' } } },
      ],
    }),
    good: output({ ...CLOSED, properties: { left: { $ref: '#' }, right: { $ref: '#' } } }),
    says: /refers back to itself in two ways/,
    where: 'the tool "words", output_schema',
  },
  {
    id: 'schema/too-costly',
    what: 'a circle that goes into no value',
    bad: output({
      ...CLOSED,
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } },
    }),
    good: output({
      ...CLOSED,
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } } },
    }),
    says: /for the same value/,
  },
  {
    id: 'schema/too-costly',
    what: 'a pattern of keys and a key that both lead back',
    bad: output({
      type: 'object',
      properties: { a: { $ref: '#' } },
      patternProperties: { '^a$': { $ref: '#' } },
    }),
    good: output({ ...CLOSED, properties: { a: { $ref: '#/$defs/json' } }, $defs: { json: anyJson } }),
  },
  {
    id: 'schema/too-costly',
    what: 'a schema that an example hides',
    bad: output({
      ...CLOSED,
      properties: { a: { $ref: '#/examples/0' } },
      examples: [{ allOf: [{ $ref: '#' }, { $ref: '#' }] }],
    }),
    good: output({ ...CLOSED, properties: { a: { $ref: '#/examples/0' } }, examples: [{ type: 'integer' }] }),
  },
  {
    id: 'schema/too-costly',
    what: 'many tools with large schemas',
    bad: {
      change: {
        tools: Array.from({ length: 20 }, (_, at) => ({
          ...TOOL,
          ...{ id: `t${at}`, name: `T ${at}`, inputSchema: many(200, { type: 'integer', minimum: at }) },
        })),
      },
    },
    good: {
      change: {
        tools: Array.from({ length: 20 }, (_, at) => ({
          ...TOOL,
          ...{ id: `t${at}`, name: `T ${at}`, inputSchema: many(20, { type: 'integer', minimum: at }) },
        })),
      },
    },
    says: /more than 2500 parts/,
  },
  {
    id: 'schema/too-costly',
    what: 'a list without end whose items are all compared',
    bad: list({ items: CLOSED }),
    good: list({ items: { type: 'string', maxLength: 9 } }),
    says: /compares all items/,
  },
  {
    id: 'schema/too-costly',
    what: 'a pattern of thousands of steps for texts of any length',
    bad: text({ maxLength: 1_000_000, pattern: '^[ab]*a(?:[ab]{30}){30}$' }),
    good: text({ maxLength: 1_000, pattern: '^[ab]*a(?:[ab]{30}){30}$' }),
    says: /pattern of many repetitions/,
  },
  {
    id: 'schema/refused-keyword',
    what: 'a name that another skill could have as well',
    bad: input({ ...CLOSED, $id: 'https://example.com/a' }),
    good: input({ ...CLOSED, properties: { $id: { type: 'integer' } } }),
    says: /"\$id"/,
  },
  {
    id: 'schema/refused-keyword',
    what: 'a check whose answer nobody waits for',
    bad: output({ ...CLOSED, $async: true }),
    good: output({ ...CLOSED, $comment: '$async' }),
  },
  {
    id: 'schema/refused-keyword',
    what: 'a reference that means another place each time',
    bad: input({ ...CLOSED, $dynamicAnchor: 'a', properties: { a: { $dynamicRef: '#a' } } }),
    good: input({ ...CLOSED, properties: { a: { $ref: '#' } } }),
  },
];
