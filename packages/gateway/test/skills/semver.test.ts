import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareVersions, parseVersion } from '../../src/skills/semver.ts';

/** Each comes before the next: the chain of the specification, and where naive comparisons go wrong. */
const ASCENDING = [
  '0.0.0-0',
  '0.0.0',
  '0.9.10',
  '0.10.0',
  '1.0.0--',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-rc.1',
  '1.0.0',
  '1.9.0',
  '1.10.0-9007199254740992',
  '1.10.0-9007199254740993',
  '1.10.0-Z',
  '1.10.0-a',
  '1.10.0',
  '9007199254740992.0.0',
  '9007199254740993.0.0',
];

const number = fc.bigInt({ min: 0n, max: 10n ** 17n }).map(String);
const word = fc.stringMatching(/^[0-9]{0,2}[A-Za-z-][0-9A-Za-z-]{0,3}$/);
const identifiers = (element: fc.Arbitrary<string>) =>
  fc.array(element, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const version = fc
  .tuple(
    fc.tuple(number, number, number).map((parts) => parts.join('.')),
    fc.option(identifiers(fc.oneof(number, word)), { nil: null }),
    fc.option(identifiers(fc.stringMatching(/^[0-9A-Za-z-]{1,4}$/)), { nil: null }),
  )
  .map(([core, pre, build]) => `${core}${pre === null ? '' : `-${pre}`}${build === null ? '' : `+${build}`}`)
  .filter((text) => text.length <= 64);

describe('parseVersion()', () => {
  it('reads every part that orders versions', () => {
    expect(parseVersion('1.20.3-rc.1.x-0+build.007')).toEqual({
      numbers: [1n, 20n, 3n],
      prerelease: ['rc', 1n, 'x-0'],
    });
    expect(parseVersion('0.0.0')).toEqual({ numbers: [0n, 0n, 0n], prerelease: [] });
  });

  it.each([
    ...['', '1', '1.2', '1.2.3.4', 'v1.2.3', '=1.2.3', ' 1.2.3', '1.2.3 ', '1.2.3\n', '1.2.x', '*', '^1.2.3'],
    ...['01.2.3', '1.02.3', '1.2.03', '1.2.3-01', '1.2.3-', '1.2.3-a.', '1.2.3-.a', '1.2.3-a..b', '1.2.3+'],
    ...['1.2.3+a+b', '1.2.3+a..b', '1.2.3-é', '1.2.3-a_b', '-1.2.3', '1.-2.3', '１.2.3', '1e3.0.0', 'latest'],
    ...['../1.2.3', `1.2.3-${'a'.repeat(59)}`],
  ])('refuses %j', (text) => {
    expect(parseVersion(text)).toBeNull();
  });

  it('takes every version of the grammar, up to 64 characters', () => {
    expect(parseVersion(`1.2.3-${'a'.repeat(58)}`)).not.toBeNull();
    fc.assert(fc.property(version, (text) => parseVersion(text) !== null));
  });

  it('ends soon on what would make a backtracking pattern slow', () => {
    expect(parseVersion(`1.2.3-${'0'.repeat(100_000)}!`)).toBeNull();
  });
});

describe('compareVersions()', () => {
  it('orders any two as the specification does', () => {
    for (const [i, a] of ASCENDING.entries()) {
      for (const [j, b] of ASCENDING.entries()) {
        expect([a, b, Math.sign(compareVersions(a, b))]).toEqual([a, b, Math.sign(i - j)]);
      }
    }
  });

  it('does not look at build metadata', () => {
    expect(compareVersions('1.0.0+a', '1.0.0+b')).toBe(0);
  });

  it('is an order: what is turned round is turned round, and it is transitive', () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(compareVersions(a, b) + compareVersions(b, a)).toBe(0);
        const [x = '', y = '', z = ''] = [a, b, c].sort(compareVersions);
        expect(compareVersions(x, y)).toBeLessThanOrEqual(0);
        expect(compareVersions(y, z)).toBeLessThanOrEqual(0);
        expect(compareVersions(x, z)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it('says so when one of them is no version', () => {
    expect(() => compareVersions('1.0.0', '1.0')).toThrow(TypeError);
  });
});
