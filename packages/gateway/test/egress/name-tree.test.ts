import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allAbove, plantNames } from '../../src/egress/allowlist.ts';

function above(names: readonly string[], name: string): string[] {
  return allAbove(plantNames(new Map(names.map((each) => [each, each]))), name);
}

describe('allAbove()', () => {
  const names = ['com', 'example.com', 'b.example.com', 'x.a.b.example.com', 'org'];

  it.each<[string, string[]]>([
    ['a.b.example.com', ['b.example.com', 'example.com', 'com']],
    ['b.example.com', ['example.com', 'com']],
    ['y.x.a.b.example.com', ['x.a.b.example.com', 'b.example.com', 'example.com', 'com']],
    ['evilexample.com', ['com']],
    ['com', []],
    ['a.com.evil', []],
    ['example.com.org', ['org']],
  ])('of %s is %j', (name, expected) => {
    expect(above(names, name)).toEqual(expected);
  });

  it('finds what a look at every name finds', () => {
    const name = fc
      .array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 5 })
      .map((all) => all.join('.'));
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 24 }), name, (listed, asked) => {
        const expected = listed
          .filter((each) => asked.endsWith(`.${each}`))
          .toSorted((a, b) => b.length - a.length);
        expect(above(listed, asked)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });
});
