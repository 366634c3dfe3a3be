import { describe, expect, test } from 'vitest';
import { jsonPositions } from '../../src/core/json-shape.ts';
import {
  check,
  choice,
  flag,
  integer,
  optional,
  required,
  type Shape,
  table,
  tables,
  textLike,
  texts,
  withDefault,
} from '../../src/core/shape.ts';
import { formatProblem, locate } from '../../src/core/shape-problem.ts';
import { parseStrict } from '../../src/core/strict-json.ts';

const NAME = textLike('a lower-case name', (text) => /^[a-z]+$/.test(text));
const PERSON = table({
  name: required(NAME, 'name = "ada"'),
  role: withDefault(choice(['reader', 'writer']), 'reader'),
  tags: optional(texts(NAME, { max: 2 })),
  isActive: withDefault(flag, true),
});
const FILE = table({ people: withDefault(tables(PERSON, { max: 2, header: '[[people]]' }), []) });

/** Every problem of a JSON text, as it is shown. */
function told(text: string, shape: Shape<unknown> = FILE): readonly string[] {
  const parsed = parseStrict(text, { maxBytes: 10_000, maxDepth: 10 });
  if (!parsed.ok) throw new Error(parsed.message);
  const checked = check(parsed.value, shape);
  if (checked.ok) return [];
  return locate(checked.problem, jsonPositions(text)).map((problem) => formatProblem(problem, 'a.json'));
}

describe('check()', () => {
  test('fills in what is left out', () => {
    expect(check({}, FILE)).toEqual({ ok: true, value: { people: [] } });
    expect(check({ people: [{ name: 'ada' }] }, FILE)).toEqual({
      ok: true,
      value: { people: [{ name: 'ada', role: 'reader', tags: null, isActive: true }] },
    });
  });

  test('finds every problem, in the order of the text', () => {
    const text = '{"people":[\n{"nam":"ada"},\n{"name":"Ada","role":"riter",\n"tags":["a","a"]}\n]}';
    expect(told(text)).toEqual([
      'a.json:2:1: Cannot use people[0]: it has no name, expected the key name (for example name = "ada")',
      'a.json:2:2: Cannot use the key "people[0].nam": it is unknown, expected one of name, role, tags, isActive (did you mean "name"?)',
      'a.json:3:9: Cannot use people[1].name: it is "Ada", expected a lower-case name',
      'a.json:3:22: Cannot use people[1].role: it is "riter", expected one of "reader", "writer" (did you mean "writer"?)',
      'a.json:4:13: Cannot use people[1].tags[1]: "a" occurs twice, expected each element once',
    ]);
  });

  test.each([
    ['[]', 'Cannot use the file: it is a list, expected a table'],
    ['{"people":{}}', 'it is a table, expected tables under [[people]]'],
    ['{"people":[1]}', 'Cannot use people[0]: it is the number 1, expected a table'],
    ['{"people":[null]}', 'Cannot use people[0]: it is null, expected a table'],
    ['{"people":[{},{},{}]}', 'there are 3, expected at most 2 of [[people]]'],
    ['{"people":[{"name":"a","isActive":"true"}]}', '(write true without quotes)'],
    ['{"people":[{"name":"a","tags":"b"}]}', 'expected a list of strings (write it as ["b"])'],
    ['{"constructor":1}', 'Cannot use the key "constructor": it is unknown'],
  ])('refuses %s', (text, message) => {
    expect(told(text).join('\n')).toContain(message);
  });

  test('takes integers of TOML alone, within their range', () => {
    const shape = table({ n: required(integer({ min: 2, max: 8, multipleOf: 2 })) });
    expect(check({ n: 4n }, shape)).toEqual({ ok: true, value: { n: 4 } });
    for (const n of [4, 3n, 0n, 10n, '4', 4.5]) expect(check({ n }, shape).ok).toBe(false);
  });

  test('leaves keys alone where a table says so, and asks for relations last', () => {
    const also = (value: { readonly a: string }, site: { found: unknown[] }) => {
      if (value.a === 'x') site.found.push({});
    };
    const shape = table({ a: required(NAME) }, { others: 'ignored', also });
    expect(check({ a: 'b', c: 1 }, shape)).toEqual({ ok: true, value: { a: 'b' } });
    expect(check({ a: 'x' }, shape).ok).toBe(false);
  });
});

describe('jsonPositions()', () => {
  const text = '{ "a": [1, {"b,": "x]"}],\n  "c": {"a": null}, "d": [] }';
  const positions = jsonPositions(text);
  test.each([
    [['a'], 'key', 3],
    [['a'], 'value', 8],
    [['a', 0], 'value', 9],
    [['a', 1], 'value', 12],
    [['a', 1, 'b,'], 'key', 13],
    [['a', 1, 'b,'], 'value', 19],
  ] as const)('finds the %j as a %s on the first line', (path, at, column) => {
    expect(positions(path, at)).toEqual({ line: 1, column });
  });
  test('finds what is further on, and nothing that is not there', () => {
    expect(positions(['c', 'a'], 'value')).toEqual({ line: 2, column: 14 });
    expect(positions(['d'], 'key')).toEqual({ line: 2, column: 21 });
    expect(positions(['d', 0], 'value')).toBeUndefined();
    expect(positions(['b'], 'value')).toBeUndefined();
  });
});
