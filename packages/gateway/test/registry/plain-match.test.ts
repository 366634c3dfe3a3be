import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../src/core/json.ts';
import type { JsonSchema } from '../../src/core/tool.ts';
import { BUILTIN_TOOLS } from '../../src/registry/builtin.table.ts';
import { surelyMatches } from '../../src/registry/plain-match.ts';
import { Schemas } from '../../src/registry/schema.ts';
import { INPUT_SCHEMA } from '../../src/runner/input.ts';

const NAMES = fc.constantFrom('a', 'b', 'command', 'toString', '__proto__', '😀');
const TEXT = fc.constantFrom('', 'a', 'b', 'ab', '😀', '😀😀', '\ud83d');
const NUMBER = fc.constantFrom(0, -0, 1, 2, -1, 1.5, 2 ** 53, 1e300);
/** A schema has a digest, and so only whole characters and exact numbers. */
const WHOLE = fc.constantFrom('', 'a', 'ab', '😀');
const EXACT = fc.constantFrom(0, 1, 2, -1, 1.5);
const scalar = fc.oneof(TEXT, NUMBER, fc.boolean(), fc.constant(null));

const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(NAMES, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

const TYPE = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null');
const count = fc.nat(2);

/** Schemas of the keywords that it knows, and of some that it does not. */
const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.boolean(),
    fc.record(
      {
        type: fc.oneof(TYPE, fc.uniqueArray(TYPE, { minLength: 1, maxLength: 3 })),
        enum: fc.uniqueArray(fc.oneof(WHOLE, EXACT, fc.boolean(), fc.constant(null)), {
          minLength: 1,
          maxLength: 3,
        }),
        minimum: EXACT,
        maximum: EXACT,
        minLength: count,
        maxLength: count,
        minItems: count,
        maxItems: count,
        minProperties: count,
        maxProperties: count,
        items: tie('schema'),
        required: fc.uniqueArray(NAMES, { maxLength: 2 }),
        properties: fc.dictionary(NAMES, tie('schema'), { maxKeys: 3, noNullPrototype: true }),
        additionalProperties: tie('schema'),
        description: fc.constant('text'),
        not: tie('schema'),
        pattern: fc.constantFrom('^a', 'b$'),
      },
      { requiredKeys: [] },
    ),
  ),
}));

test('surelyMatches() says yes only where the compiler of schemas does', () => {
  const seen = { yes: 0 };
  fc.assert(
    fc.property(schema, value, (one, other) => {
      if (!surelyMatches(one as Json, other)) return;
      seen.yes += 1;
      const within = { properties: { it: one } } as JsonSchema;
      expect(new Schemas().compile(within)({ it: other })).toBeNull();
    }),
    { numRuns: 4_000 },
  );
  expect(seen.yes).toBeGreaterThan(100);
});

test.each<[string, JsonSchema, Json]>([
  ['an echo', BUILTIN_TOOLS[0]?.inputSchema ?? {}, { message: 'hi', other: [1] }],
  ['a command', INPUT_SCHEMA, { command: 'make', args: ['-k', 'test'], env: { CI: '1' }, tier: 'c' }],
  ['the limits of one', INPUT_SCHEMA, { command: 'make', limits: { wall_ms: 5 }, egress: 'none' }],
])('surelyMatches() says yes to %s', (_, known, input) => {
  expect(surelyMatches(known, input)).toBe(true);
});

test.each<[string, Json]>([
  ['no command', {}],
  ['an empty one', { command: '' }],
  ['a number', { command: 7 }],
  ['an unknown property', { command: 'make', shell: true }],
  ['a wrong tier', { command: 'make', tier: 'a' }],
  ['a limit of zero', { command: 'make', limits: { wall_ms: 0 } }],
  ['an argument that is none', { command: 'make', args: ['a', null] }],
])('surelyMatches() says no to a command with %s', (_, input) => {
  expect(surelyMatches(INPUT_SCHEMA, input)).toBe(false);
});
