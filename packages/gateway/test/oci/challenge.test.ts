import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Challenge, formatChallenge, readChallenges } from '../../src/oci/challenge.ts';

function plain(values: readonly string[]) {
  return readChallenges(values).map(({ scheme, params }) => [scheme, Object.fromEntries(params)]);
}

const BEARER = {
  realm: 'https://auth.example/token',
  service: 'registry.example',
  scope: 'repository:a/b:pull,push',
};

describe('readChallenges()', () => {
  test.each([
    [
      [
        'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
      ],
      [['bearer', BEARER]],
    ],
    [['Basic realm="a \\"b\\" c"'], [['basic', { realm: 'a "b" c' }]]],
    [
      ['Basic realm=x , Bearer realm = "y"'],
      [
        ['basic', { realm: 'x' }],
        ['bearer', { realm: 'y' }],
      ],
    ],
    [
      ['Negotiate', 'NTLM abc==, basic realm="x"'],
      [
        ['negotiate', {}],
        ['ntlm', {}],
        ['basic', { realm: 'x' }],
      ],
    ],
    [[' , ,Basic realm="x",, '], [['basic', { realm: 'x' }]]],
    [['Bearer error="invalid_token", realm="r"'], [['bearer', { error: 'invalid_token', realm: 'r' }]]],
  ])('reads %j', (values, expected) => {
    expect(plain(values)).toEqual(expected);
  });

  test.each([
    'Bearer realm="a",realm="b"',
    'Bearer realm="unfinished',
    'Bearer realm="a" service="b"',
    'realm="a"',
    'Basic foo bar="x"',
    'Bearer"x"',
    'Bearer realm="a\r\nX: y"',
    `Bearer realm="${'a'.repeat(5_000)}"`,
  ])('takes nothing from %j, which is not well-formed', (value) => {
    expect(readChallenges([value])).toEqual([]);
  });

  test('reads back whatever challenge can be formatted', () => {
    const token = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/);
    const text = fc.stringMatching(/^[ -~]{0,30}$/);
    const challenge = fc
      .record({ scheme: token, params: fc.dictionary(token, text, { minKeys: 1, maxKeys: 4 }) })
      .map(({ scheme, params }): Challenge => ({ scheme, params: new Map(Object.entries(params)) }));
    fc.assert(
      fc.property(fc.array(challenge, { maxLength: 4 }), (challenges) => {
        expect(readChallenges([challenges.map(formatChallenge).join(', ')])).toEqual(challenges);
      }),
    );
  });

  test('never throws and stays fast for whatever a registry sends', () => {
    const parts = fc.constantFrom(
      'Bearer',
      ' ',
      ',',
      '=',
      '"',
      '\\',
      'realm',
      'x',
      '\u00e9',
      '\t',
      '==',
      '/',
    );
    const hostile = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.array(parts, { maxLength: 400 }).map((each) => each.join('')),
    );
    fc.assert(
      fc.property(fc.array(hostile, { maxLength: 3 }), (values) => {
        for (const { scheme, params } of readChallenges(values)) {
          expect(scheme).toMatch(/^[!-~]+$/);
          for (const value of params.values()) expect(value).not.toMatch(/[\r\n\0]/);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
