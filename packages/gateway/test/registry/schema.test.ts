import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { Schemas } from '../../src/registry/schema.ts';

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

  it('refuses a schema with a word it does not know', () => {
    expect(() => compile({ type: 'object', propreties: {} })).toThrow(/propreties/);
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

  it('refuses a schema whose check would be a promise, and so true', () => {
    expect(() => new Schemas().compile({ $async: true, type: 'object' })).toThrow('asynchronous');
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
