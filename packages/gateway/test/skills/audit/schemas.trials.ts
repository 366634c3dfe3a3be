import type { JsonSchema } from '../../../src/core/tool.ts';
import type { Trial } from './trial.ts';

const CLOSED = { type: 'object', additionalProperties: false } as const;
const input = (inputSchema: JsonSchema) => ({ change: { tool: { inputSchema } } });
const output = (outputSchema: JsonSchema) => ({ change: { tool: { outputSchema } } });
const text = (rest: JsonSchema) =>
  input({ ...CLOSED, properties: { text: { type: 'string', maxLength: 9, ...rest } } });

function nested(levels: number): JsonSchema {
  return levels === 1 ? CLOSED : { ...CLOSED, properties: { a: nested(levels - 1) } };
}

export const SCHEMA_TRIALS: readonly Trial[] = [
  {
    id: 'schema/invalid',
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
];
