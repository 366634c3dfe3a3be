import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonSchema } from '../../../src/core/tool.ts';
import { costOf, patternSize } from '../../../src/skills/audit/schema-cost.ts';

/** Schemas of a few parts that refer to each other in any way. */
const tangled = fc
  .dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.record(
      {
        $ref: fc.constantFrom(
          '#',
          '#/$defs/a',
          '#/$defs/b',
          '#/$defs/c',
          '#/$defs/%',
          '#/$defs/d',
          '#/a~0~1',
        ),
        allOf: fc.array(fc.constantFrom({ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }, {}), { maxLength: 2 }),
        properties: fc.constantFrom<JsonSchema>({ x: { $ref: '#/$defs/c' } }, { y: { type: 'integer' } }),
        items: fc.constantFrom<JsonSchema>({ $ref: '#/$defs/a' }, { type: 'string' }),
      },
      { requiredKeys: [] },
    ),
  )
  .map(($defs): JsonSchema => ({ $ref: '#/$defs/a', $defs }) as JsonSchema);

/** A value inside a value and so on: under the key x, under the key y, or as the one item of a list. */
type Way = 'x' | 'y' | 'item';

/** How many parts such a value is held against; as many as asked for at most. */
function countSteps(root: JsonSchema, way: readonly Way[], most: number): number {
  let steps = 0;
  const open: [part: JsonSchema, level: number][] = [[root, 0]];
  for (let next = open.pop(); next !== undefined && steps < most; next = open.pop()) {
    const [{ $ref, allOf, properties, items }, level] = next;
    steps += 1;
    const to = typeof $ref === 'string' ? lookUp(root, $ref) : undefined;
    if (to !== undefined) open.push([to, level]);
    for (const each of (allOf ?? []) as JsonSchema[]) open.push([each, level]);
    const inside = way[level];
    if (inside === undefined) continue;
    const child =
      inside === 'item' ? items : (properties as Record<string, JsonSchema> | undefined)?.[inside];
    if (child !== undefined) open.push([child as JsonSchema, level + 1]);
  }
  return steps;
}

function lookUp(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (reference === '#') return root;
  const [, name = ''] = /^#\/\$defs\/(.)$/.exec(reference) ?? [];
  return (root.$defs as Record<string, JsonSchema>)[name];
}

const LEVELS = 20;
const WAYS = fc.oneof(
  fc.constantFrom<Way>('x', 'y', 'item').map((each) => Array.from({ length: LEVELS }, () => each)),
  fc.array(fc.constantFrom<Way>('x', 'y', 'item'), { minLength: LEVELS, maxLength: LEVELS }),
);

describe('costOf()', () => {
  test('counts parts, and those that are referred to as often as they are', () => {
    const pair = { properties: { x: { $ref: '#/$defs/a' }, y: { $ref: '#/$defs/a' } } };
    expect(costOf({ ...pair, $defs: { a: { type: 'integer' } } })).toEqual({ cost: 5, fault: null });
    expect(costOf({ ...pair, $defs: { a: { items: { type: 'integer' } } } })).toEqual({
      cost: 7,
      fault: null,
    });
  });

  test('faults whatever takes more than so many steps for each level of a value', () => {
    const seen = { sound: 0, faulty: 0 };
    fc.assert(
      fc.property(tangled, WAYS, (schema, way) => {
        const { cost, fault } = costOf(schema);
        if (fault === null) seen.sound += 1;
        else seen.faulty += 1;
        if (fault === null) expect(countSteps(schema, way, 5e5)).toBeLessThan(cost * LEVELS ** 3);
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(seen.sound, seen.faulty)).toBeGreaterThan(10);
  });

  test('takes any value of JSON for a schema without an error', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('$ref', 'items', 'allOf', 'pattern', 'enum'), fc.jsonValue()),
        (any) => {
          expect(costOf(any as JsonSchema).cost).toBeGreaterThan(0);
        },
      ),
    );
  });

  test('follows thousands of references one after the other', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, at) => [`d${at}`, { $ref: `#/$defs/d${at + 1}` }]),
    );
    expect(costOf({ $ref: '#/$defs/d0', $defs })).toEqual({ cost: 5_001, fault: null });
  });
});

describe('patternSize()', () => {
  test.each([
    ['^abc$', 5],
    ['a{4}', 4],
    ['a{2,10}', 10],
    ['(?:a{10}){10}', 100],
    ['(ab){3}(cd){2,}', 10],
    ['a\\{5}', 5],
  ])('gives %s about %i steps', (pattern, steps) => {
    expect(patternSize(pattern)).toBeGreaterThanOrEqual(steps);
    expect(patternSize(pattern)).toBeLessThan(steps * 1.5 + 25);
  });

  test('counts a class once, whatever stands in it', () => {
    expect(patternSize('^[({1000}]$')).toBeLessThan(5);
  });

  test('takes any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'(){}[]\\|a19,?') }), (text) => {
        expect(patternSize(text)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
