import { describe, expect, test } from 'vitest';
import { check } from '../sizes.mjs';
import { violations } from './plant.ts';

const lines = (count: number) => '// line\n'.repeat(count);
const body = (count: number) => `{\n${'  x();\n'.repeat(count - 2)}}`;

const rows: readonly (readonly [what: string, file: string, text: string, named: string | undefined])[] = [
  ['a source of 300 lines', 'packages/sdk/src/a.ts', lines(300), undefined],
  ['a source of 301 lines', 'packages/sdk/src/a.ts', lines(301), '301 lines, expected at most 300'],
  ['a table of 301 lines', 'packages/sdk/src/a.table.ts', lines(301), undefined],
  ['a tool of 301 lines', 'tools/a.mjs', lines(301), '301 lines'],
  ['a test of 500 lines', 'packages/sdk/test/a.test.ts', lines(500), undefined],
  ['a test of 501 lines', 'tests/attacks/a.test.ts', lines(501), '501 lines, expected at most 500'],
  ['a function of 60 lines', 'packages/sdk/src/a.ts', `function f() ${body(60)}`, undefined],
  [
    'a function of 61 lines',
    'packages/sdk/src/a.ts',
    `function f() ${body(61)}`,
    '61 lines, expected at most 60',
  ],
  ['an arrow of 61 lines', 'packages/sdk/src/a.ts', `const f = () => ${body(61)};`, '61 lines'],
  ['a method of 61 lines', 'packages/sdk/src/a.ts', `class A { f() ${body(61)} }`, '61 lines'],
  ['a long function in a table', 'packages/sdk/src/a.table.ts', `function f() ${body(61)}`, '61 lines'],
  ['4 parameters', 'packages/sdk/src/a.ts', 'function f(this: A, a, b, c, d) {}', undefined],
  [
    '5 parameters',
    'packages/sdk/src/a.ts',
    'function f(a, b, c, d, e) {}',
    '5 parameters, expected at most 4',
  ],
  [
    '5 parameters of a constructor',
    'packages/sdk/src/a.ts',
    'class A { constructor(a, b, c, d, e) {} }',
    '5 parameters',
  ],
  [
    '5 parameters of an arrow',
    'packages/sdk/src/a.ts',
    'const f = (a, b, c, d = 1, ...e) => 1;',
    '5 parameters',
  ],
];

describe('sizes', () => {
  test.each(rows)('judges %s', async (_, file, text, named) => {
    const found = await violations(check, { [file]: text });
    expect(found).toEqual(named === undefined ? [] : [expect.stringContaining(named)]);
  });
});
