import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { CodedError } from '../../../src/core/coded-error.ts';
import { type Advisory, parseAdvisories } from '../../../src/skills/advisories.ts';
import { affects, byPackage, order } from '../../../src/skills/audit/affects.ts';

const PLAIN = {
  id: 'OSV-1',
  modified: '2026-01-01T00:00:00Z',
  affected: [
    {
      package: { ecosystem: 'npm', name: 'left-pad' },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '1.0.0' }, { fixed: '1.10.0' }] }],
    },
  ],
};

const parse = (value: unknown) => parseAdvisories(Buffer.from(JSON.stringify(value)));

/** An advisory with something of its one package changed. */
function about(affected: object, rest: object = {}): Advisory {
  const [first] = parse({ ...PLAIN, ...rest, affected: [{ ...PLAIN.affected[0], ...affected }] });
  if (first === undefined) throw new Error('Cannot happen: one goes in');
  return first;
}

const npm = (version: string) => ({ name: 'left-pad', version, purl: `pkg:npm/left-pad@${version}` });
const range = (type: string, events: readonly object[]) => ({ ranges: [{ type, events }] });

describe('parseAdvisories()', () => {
  test.each([
    ['one', JSON.stringify(PLAIN)],
    ['a list', JSON.stringify([PLAIN])],
    ['an answer of OSV', JSON.stringify({ vulns: [PLAIN] })],
    ['a line each', `${JSON.stringify(PLAIN)}\n\n${JSON.stringify({ ...PLAIN, id: 'OSV-2' })}\n`],
  ])('reads %s', (_, text) => {
    const [first] = parseAdvisories(Buffer.from(text));
    expect(first).toMatchObject({ id: 'OSV-1', isWithdrawn: false, severity: null });
    expect(first?.affected[0]).toMatchObject({ ecosystem: 'npm', name: 'left-pad', purl: null });
  });

  test('reads every line', () => {
    const lines = [PLAIN, { ...PLAIN, id: 'OSV-2' }].map((each) => JSON.stringify(each)).join('\n');
    expect(parseAdvisories(Buffer.from(lines)).map(({ id }) => id)).toEqual(['OSV-1', 'OSV-2']);
  });

  test('gives the aliases and the severity', () => {
    const severity = [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N' }];
    expect(about({}, { aliases: ['CVE-1'], severity })).toMatchObject({
      aliases: ['CVE-1'],
      severity: 'CVSS:3.1/AV:N',
    });
    expect(about({}, { database_specific: { severity: 'HIGH' } }).severity).toBe('HIGH');
  });

  test.each([
    ['nothing', '', /line 1, column 1/],
    ['no JSON', 'hello', /line 1, column 1/],
    ['a broken second line', `${JSON.stringify(PLAIN)}\n{"id":`, /line 2: /],
    ['no id', '{"affected":[]}', /advisory 1: it has no id, expected the key id/],
    ['a text', '"x"', /it is "x", expected a table/],
    [
      'affected of another kind',
      '{"id":"A","affected":{}}',
      /affected of advisory 1 \("A"\): it is a table, expected a list/,
    ],
    [
      'a package without a name',
      '{"id":"A","affected":[{"package":{"ecosystem":"npm"}}]}',
      /affected\[0\]\.package of advisory 1 \("A"\): it has no name/,
    ],
    [
      'an event of another kind',
      JSON.stringify({ ...PLAIN, affected: [{ ...PLAIN.affected[0], ...range('SEMVER', [{ from: '1' }]) }] }),
      /events\[0\] of advisory 1 \("OSV-1"\): it is a table, expected an event: one of introduced/,
    ],
  ])('refuses %s, with the reason', (_, text, why) => {
    const read = () => parseAdvisories(Buffer.from(text));
    expect(read).toThrow(CodedError);
    expect(read).toThrow(why);
  });

  test('throws nothing but a CodedError, whatever the file has', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((json) => `{"id":"A","affected":[{"package":${json},"ranges":${json}}]}`),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          parseAdvisories(Buffer.from(text));
        } catch (error) {
          if (!(error instanceof CodedError) || error.code !== 'config/invalid') throw error;
        }
      }),
      { numRuns: volume(1_000, 30) },
    );
  });
});

describe('affects()', () => {
  test.each([
    ['0.9.9', false],
    ['1.0.0-rc.1', false],
    ['1.0.0', true],
    ['1.9.0', true],
    ['1.10.0-rc.1', true],
    ['1.10.0', false],
    ['2.0.0', false],
  ])('goes by the order of versions: %s is affected: %s', (version, isAffected) => {
    expect(affects(about({}), npm(version)) !== null).toBe(isAffected);
  });

  test('names the nearest version that is fixed', () => {
    const events = [{ introduced: '0' }, { fixed: '3.0.1' }, { fixed: '1.5.0' }, { introduced: '2.0.0' }];
    const advisory = about(range('SEMVER', events));
    expect(affects(advisory, npm('1.4.0'))).toEqual({ isSure: true, fixed: '1.5.0' });
    expect(affects(advisory, npm('1.6.0'))).toBeNull();
    expect(affects(advisory, npm('2.9.9'))).toEqual({ isSure: true, fixed: '3.0.1' });
  });

  test('takes events in any order', () => {
    const events = [
      { introduced: '1.0.0' },
      { fixed: '1.2.0' },
      { introduced: '2.0.0' },
      { last_affected: '2.5.0' },
    ] as const;
    const versions = ['0.1.0', '1.0.0', '1.1.9', '1.2.0', '2.0.0', '2.5.0', '2.5.1'];
    const expected = [false, true, true, false, true, true, false];
    fc.assert(
      fc.property(fc.shuffledSubarray([...events], { minLength: events.length }), (shuffled) => {
        const advisory = about(range('ECOSYSTEM', shuffled));
        expect(versions.map((version) => affects(advisory, npm(version)) !== null)).toEqual(expected);
      }),
    );
  });

  test('knows no fixed version where there is none', () => {
    expect(affects(about(range('SEMVER', [{ introduced: '0' }])), npm('1.0.0'))).toEqual({
      isSure: true,
      fixed: null,
    });
  });

  test.each([
    ['versions by their spelling', { versions: ['1.2.3-weird_1'], ranges: [] }, '1.2.3-weird_1', true],
    ['no other spelling', { versions: ['1.2.3'], ranges: [] }, '1.2.4', false],
    ['every version where none is named', { versions: [], ranges: [] }, '9.9.9', true],
    ['no commits', range('GIT', [{ introduced: '0' }]), '1.0.0', false],
    ['versions below a limit', range('ECOSYSTEM', [{ introduced: '0' }, { limit: '2.0' }]), '1.9', true],
    ['a spelling with a v as well', { versions: ['v1.2.3'], ranges: [] }, '1.2.3', true],
    ['all before a fix where no beginning is named', range('SEMVER', [{ fixed: '1.3.0' }]), '1.2.0', true],
    ['none from that fix on', range('SEMVER', [{ fixed: '1.3.0' }]), '1.3.0', false],
    ['none from a limit on', range('ECOSYSTEM', [{ introduced: '0' }, { limit: '2.0' }]), '2.0', false],
  ])('means %s', (_, affected, version, isAffected) => {
    expect(affects(about(affected), npm(version)) !== null).toBe(isAffected);
  });

  test('forgets what was withdrawn', () => {
    expect(affects(about({}, { withdrawn: '2026-02-02T00:00:00Z' }), npm('1.0.0'))).toBeNull();
  });

  test.each([
    ['the same package', 'npm', 'left-pad', 'pkg:npm/left-pad@1.0.0', true],
    ['a scope as it is written', 'npm', '@a/b', 'pkg:npm/%40a/b@1.0.0', true],
    ['names of Python as it compares them', 'PyPI', 'Left_Pad', 'pkg:pypi/left-pad@1.0.0', true],
    ['groups of Maven', 'Maven', 'org.a:b', 'pkg:maven/org.a/b@1.0.0', true],
    ['modules of Go', 'Go', 'github.com/a/b', 'pkg:golang/github.com/a/b@1.0.0', true],
    ['an ecosystem with its release', 'crates.io:1', 'a', 'pkg:cargo/a@1.0.0', true],
    ['another ecosystem', 'PyPI', 'left-pad', 'pkg:npm/left-pad@1.0.0', null],
    ['another name', 'npm', 'right-pad', 'pkg:npm/left-pad@1.0.0', null],
    ['a component that has only a name', 'npm', 'left-pad', null, false],
    ['a package URL of no ecosystem by its name', 'OSS-Fuzz', 'zlib', 'pkg:generic/acme/zlib@1.0.0', false],
    ['an ecosystem in other letters', 'NPM', 'left-pad', 'pkg:npm/left-pad@1.0.0', true],
    ['a name with escapes', 'npm', 'left-pad', 'pkg:npm/left%2Dpad@1.0.0', true],
    ['a name with slashes too many', 'npm', 'left-pad', 'pkg:npm//left-pad/@1.0.0', true],
    ['a version with another sign', 'npm', 'left-pad', 'pkg:npm/left-pad@1.0.0@x', true],
    ['a scope in the clear', 'npm', '@a/b', 'pkg:npm/@a/b@1.0.0', true],
  ])('compares %s', (_, ecosystem, name, purl, isSure) => {
    const [advisory, component] = [
      about({ package: { ecosystem, name } }),
      { name: 'left-pad', version: '1.0.0', purl },
    ];
    expect(affects(advisory, component)?.isSure ?? null).toBe(isSure);
    // What a component is compared with is what its names lead to.
    if (isSure !== null) expect([...byPackage([advisory])(component)]).toEqual([advisory]);
  });

  test('takes the worse one where a component says two versions', () => {
    const advisory = about(range('SEMVER', [{ introduced: '0' }, { fixed: '2.0.0' }]));
    const component = { name: 'left-pad', version: '9.9.9', purl: 'pkg:npm/left-pad@1.2.0' };
    expect(affects(advisory, component)).toEqual({ isSure: true, fixed: '2.0.0' });
  });

  test('goes by the package URL of the advisory', () => {
    const advisory = about({ package: { ecosystem: 'Other', name: 'x', purl: 'pkg:generic/acme/x' } });
    expect(affects(advisory, { name: 'y', version: '1.0.0', purl: 'pkg:generic/acme/x@1.0.0' })?.isSure).toBe(
      true,
    );
  });
});

describe('order()', () => {
  test.each([
    ['1.9.0', '1.10.0'],
    ['1.0.0-rc.1', '1.0.0'],
    ['0', '0.0.0-a'],
    ['1.0rc1', '1.0'],
    ['1.0', '1.0.1'],
    ['2.9', '2.10'],
    ['v1.2.3', 'v1.2.4'],
    ['1.0a1', '1.0b1'],
  ])('puts %s before %s', (a, b) => {
    expect(order(a, b)).toBeLessThan(0);
    expect(order(b, a)).toBeGreaterThan(0);
  });

  test('takes 1.0 and 1.0.0 for the same', () => {
    expect(order('1.0', '1.0.0')).toBe(0);
  });

  test('never throws, and turns around with its sides', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(Math.sign(order(a, b))).toBe(-Math.sign(order(b, a)) + 0);
      }),
    );
  });
});
