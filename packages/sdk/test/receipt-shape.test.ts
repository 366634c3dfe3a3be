import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../tests/volume/volume.ts';
import { CODES } from '../src/index.ts';
import { STATEMENT } from '../src/receipt-shape.table.ts';
import { describeMismatch } from '../src/shape.ts';
import { makeStatement } from './signer.ts';

type Schema = {
  properties: { predicate: { properties: { outcome: { properties: { code: { enum: string[] } } } } } };
};

const schema = JSON.parse(
  readFileSync(new URL('../schema/receipt.schema.json', import.meta.url), 'utf8'),
) as Schema;
const validate = new Ajv2020({ strict: true, allowUnionTypes: true, strictTuples: false }).compile(schema);

type Path = readonly (string | number)[];

/** Every place in a value, the root first. */
function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  const children = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [at, ...children.flatMap(([key, child]) => pathsOf(child, [...at, key]))];
}

/** A statement with one place replaced, removed or given one more field. */
function mutate(path: Path, act: 'replace' | 'remove' | 'add', value: unknown): unknown {
  const root = { statement: makeStatement() as unknown };
  const keys = ['statement', ...path];
  const last = keys.pop() as string;
  const parent = keys.reduce<Record<string, unknown>>(
    (node, key) => node[key] as Record<string, unknown>,
    root as Record<string, unknown>,
  );
  const target = parent[last];
  if (act === 'replace') parent[last] = value;
  else if (act === 'remove' && Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (act === 'remove') delete parent[last];
  else if (Array.isArray(target)) target.push(value);
  else if (typeof target === 'object' && target !== null) Object.assign(target, { extra: value });
  return root.statement;
}

const statement = makeStatement();
const values = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(null, true, 0, 1, -1, 0.5, 2 ** 53, 1e300, '', 'x', 'ok', 'policy/denied', 'toString'),
  fc.constantFrom('a'.repeat(64), 'A'.repeat(64), `${'a'.repeat(64)}\n`, 'agent:ada', 'agent:', 'root:ada'),
  fc.constantFrom(
    '2026-01-31T12:00:00.000Z',
    '2026-13-31T12:00:00.000Z',
    '2026-01-31T12:00:00Z',
    'agent:a b',
  ),
  fc.constantFrom(...pathsOf(statement).map((path) => path.reduce<unknown>(step, statement))),
);

function step(node: unknown, key: string | number): unknown {
  return (node as Record<string | number, unknown>)[key];
}

describe('the shape of a receipt', () => {
  test('fits the published receipt, in code and in the schema', () => {
    expect(STATEMENT(statement)).toBeNull();
    expect(validate(statement)).toBe(true);
  });

  test('lists every code of the table in the schema', () => {
    const listed = schema.properties.predicate.properties.outcome.properties.code.enum;
    expect([...listed].sort()).toEqual(Object.keys(CODES).sort());
  });

  test.each(
    pathsOf(statement)
      .slice(1)
      .map((path) => [path.join('.'), path] as const),
  )('is held the same by code and schema when %s is removed or null', (_, path) => {
    for (const candidate of [mutate(path, 'remove', null), mutate(path, 'replace', null)]) {
      expect(STATEMENT(candidate) === null).toBe(validate(candidate));
    }
  });

  test('is held the same by code and schema for any mutation', () => {
    const place = fc.constantFrom(...pathsOf(statement));
    const act = fc.constantFrom('replace', 'remove', 'add');
    fc.assert(
      fc.property(place, act, values, (path, how, value) => {
        const candidate = mutate(path, how, value);
        const mismatch = STATEMENT(candidate);
        expect([mismatch === null, candidate]).toEqual([validate(candidate), candidate]);
      }),
      { numRuns: volume(3000, 30) },
    );
  });

  test.each([
    [
      ['predicate', 'usage', 'calls'],
      'replace',
      -1,
      'field "predicate.usage.calls" is -1, expected a non-negative',
    ],
    [['predicate', 'tool'], 'add', 1, 'field "predicate.tool.extra" is present, expected no such field'],
    [['subject', 1, 'name'], 'replace', 'input', 'field "subject.1.name" is "input", expected "output"'],
    [['predicate', 'gateway'], 'remove', null, 'field "predicate.gateway" is missing'],
    [[], 'replace', [], 'the document is [], expected an object'],
  ] as const)('says where %j differs', (path, act, value, sentence) => {
    const mismatch = STATEMENT(mutate(path, act, value));
    expect(mismatch === null ? '' : describeMismatch(mismatch)).toContain(sentence);
  });

  test('is not fooled by keys that objects inherit', () => {
    const inherited = JSON.parse(`{"__proto__":${JSON.stringify(statement)}}`) as unknown;
    expect(STATEMENT(inherited)).toMatchObject({ path: '_type', is: 'missing' });
    const extra = JSON.parse(
      JSON.stringify(statement).replace('{"_type"', '{"__proto__":{},"_type"'),
    ) as unknown;
    expect(STATEMENT(extra)).toMatchObject({ path: '__proto__', is: 'present' });
  });
});
