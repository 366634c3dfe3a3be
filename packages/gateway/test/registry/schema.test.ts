import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { Schemas } from '../../src/registry/schema.ts';
import { slipsIn } from '../../src/skills/audit/schema-slips.ts';

const compile = (schema: Parameters<Schemas['compile']>[0]) => new Schemas().compile(schema);

describe('compile()', () => {
  it.each(['^(a+)+$', '^(a|aa)+$', '^(([a-z])+.)+[A-Z]([a-z])+$', '(x+x+)+y', '^(.*)*$b'])(
    'takes linear time for the pattern %s on a long input',
    (pattern) => {
      const validate = compile({ type: 'string', pattern });
      // A backtracking engine needs longer than the universe is old for this.
      expect(validate(`${'a'.repeat(20_000)}!`)).toBe(`the input must match pattern "${pattern}"`);
    },
  );

  it('takes linear time for a pattern of property names', () => {
    const validate = compile({
      type: 'object',
      patternProperties: { '^(a+)+$': {} },
      additionalProperties: false,
    });
    expect(validate({ [`${'a'.repeat(20_000)}!`]: 1 })).not.toBeNull();
  });

  it('keeps the patterns of one schema apart', () => {
    const validate = compile({
      type: 'object',
      properties: { a: { type: 'string', pattern: '^a+$' }, b: { type: 'string', pattern: '^b+$' } },
      patternProperties: { '^n_': { type: 'number' }, '^s_': { type: 'string' } },
    });
    expect(validate({ a: 'aa', b: 'bb', n_1: 1, s_1: '' })).toBeNull();
    expect(validate({ a: 'aa', b: 'aa' })).toBe('/b must match pattern "^b+$"');
    expect(validate({ a: 'bb', b: 'bb' })).toBe('/a must match pattern "^a+$"');
    expect(validate({ n_1: 'x' })).toBe('/n_1 must be number');
    expect(validate({ s_1: 1 })).toBe('/s_1 must be string');
  });

  it('agrees with the RegExp of the language on patterns that both know', () => {
    const patterns = ['^[a-c]{2,3}$', 'b+', '^\\d+$', '(ab|ba)c', '^$', '^[^a]*$', '\\.', 'a?b?c?$'];
    fc.assert(
      fc.property(
        fc.constantFrom(...patterns),
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '.', 'é') }),
        (pattern, text) => {
          const ours = compile({ type: 'string', pattern })(text) === null;
          expect(ours).toBe(new RegExp(pattern, 'u').test(text));
        },
      ),
      { numRuns: volume(300, 30) },
    );
  });

  it.each(['(?=a)', '(?!a)', '(?<=a)b', '(a)\\1'])(
    'refuses the pattern %s, which needs backtracking',
    (pattern) => {
      expect(() => compile({ type: 'string', pattern })).toThrow();
    },
  );

  it.each<[string, object, unknown, unknown]>([
    [
      'formats and keywords as annotations',
      { type: 'object', format: 'x', 'x-ui': 1, nullable: true },
      {},
      null,
    ],
    ['keywords of other dialects', { nullable: true, id: 'a', $async: true, minimum: 1 }, 2, 0],
    [
      'properties that are called like them',
      { properties: { id: { type: 'string' }, nullable: {} } },
      {},
      { id: 1 },
    ],
    ['keywords without a type', { minLength: 2, properties: { a: { minimum: 3 } } }, 'ab', { a: 1 }],
    ['required keys that are not described', { type: 'object', required: ['a'] }, { a: 1 }, {}],
    ['tuples', { prefixItems: [{ type: 'string' }], items: false }, ['a'], ['a', 1]],
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of schemas.
    ['a condition with one arm', { if: { type: 'string' }, then: { minLength: 2 } }, 'ab', 'a'],
    [
      'references within, also through definitions',
      { $ref: '#/definitions/a', definitions: { a: { const: 1 } } },
      1,
      2,
    ],
    ['anchors', { $defs: { a: { $anchor: 'x', type: 'string' } }, items: { $ref: '#x' } }, ['a'], [1]],
    [
      'recursion',
      { properties: { next: { $ref: '#' } }, required: ['v'] },
      { v: 1, next: { v: 2 } },
      { v: 1, next: {} },
    ],
    ['what is left over', { properties: { a: {} }, unevaluatedProperties: false }, { a: 1 }, { b: 1 }],
    [
      'another dialect by name',
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'string' },
      'a',
      1,
    ],
    ['contents', { contentEncoding: 'base64', contentSchema: { type: 'object' }, type: 'string' }, 'a', 1],
  ])('takes %s', (_, schema, good, bad) => {
    const schemas = new Schemas();
    expect(schemas.problemOf(schema as never)).toBeNull();
    const validate = schemas.compile(schema as never);
    expect(validate(good as never)).toBeNull();
    expect(validate(bad as never)).not.toBeNull();
  });

  it.each<[object, RegExp]>([
    [{ properties: { a: { type: 'strng' } } }, /^\/properties\/a\/type /],
    [{ properties: { a: { minimum: '3' } } }, /^\/properties\/a\/minimum must be number/],
    [{ items: { pattern: '(?=a)b' } }, /^\/items: /],
    [{ properties: { a: { $ref: 'https://example.com/a.json' } } }, /^\/properties\/a: .*reference/],
    [{ properties: { a: { $ref: '#/$defs/none' } } }, /^\/properties\/a: .*reference/],
    [{ required: 'a' }, /^\/required must be array/],
  ])('says where the schema %j cannot be used', (schema, place) => {
    expect(new Schemas().problemOf(schema as never)).toMatch(place);
  });

  it('names keywords that are probably slips, and leaves other annotations alone', () => {
    const slips = slipsIn({
      propreties: { a: {} },
      properties: { propreties: {}, b: { type: 'string', maxLenght: 3, 'x-pattren': 1, discriminator: {} } },
    });
    expect(slips).toEqual([
      '/propreties is unknown and has no effect; did you mean "properties"?',
      '/properties/b/maxLenght is unknown and has no effect; did you mean "maxLength"?',
    ]);
  });

  it('compiles one schema once, and another that differs in one pattern anew', () => {
    const schemas = new Schemas();
    const schema = { type: 'string', pattern: '^a$' };
    expect(schemas.compile(schema)).toBe(schemas.compile({ pattern: '^a$', type: 'string' }));
    expect(schemas.compile({ ...schema, pattern: '^b$' })).not.toBe(schemas.compile(schema));
  });
});

describe('a problem', () => {
  it('says where and what, and never a word of the value', () => {
    const validate = compile({
      type: 'object',
      properties: { ms: { type: 'integer', minimum: 0 }, kind: { enum: ['a', 'b'] } },
      required: ['ms'],
      additionalProperties: false,
    });
    expect(validate({})).toBe("the input must have required property 'ms'");
    expect(validate({ ms: 'hunter2' })).toBe('/ms must be integer');
    expect(validate({ ms: -1 })).toBe('/ms must be >= 0');
    expect(validate({ ms: 1, kind: 'hunter2' })).toBe('/kind must be equal to one of the allowed values');
    expect(validate({ ms: 1, hunter2: 1 })).toBe(
      'the input must NOT have additional properties (an unknown one is present)',
    );
    expect(validate('hunter2')).toBe('the input must be object');
  });

  it('holds nothing that a terminal would obey, and is short', () => {
    const validate = compile({ type: 'object', additionalProperties: { type: 'number' } });
    const problem = validate({ [`\u001b[2J\u202e${'x'.repeat(10_000)}`]: 'x' }) ?? '';
    expect(problem).toMatch(/^[\x20-\x7e…]+$/);
    expect(problem.length).toBeLessThan(200);
  });

  it('never makes a check a promise, which would be true', () => {
    const schemas = new Schemas();
    const inner = {
      ...{ $async: true, type: 'object', properties: { a: { $async: true, type: 'string' } } },
    };
    expect(schemas.compile(inner)({ a: 1 })).toBe('/a must be string');
  });

  it('compiles two schemas that call themselves the same', () => {
    const schemas = new Schemas();
    const properties = { a: {}, b: {} };
    const named = { $id: 'https://example.com/same', type: 'object', properties };
    expect(schemas.compile({ ...named, required: ['a'] })({})).not.toBeNull();
    expect(schemas.compile({ ...named, required: ['b'] })({ a: 1 })).not.toBeNull();
    expect(schemas.compile({ ...named, required: ['b'] })({ b: 1 })).toBeNull();
  });
});
