import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Asks } from '../../src/core/wasm.ts';
import { differenceOf } from '../../src/skills/difference.ts';
import { narrowGrant, wholeGrant } from '../../src/skills/grant.ts';
import { differenceOfLines } from '../../src/skills/line-difference.ts';
import type { Manifest } from '../../src/skills/manifest/manifest.ts';
import { ASKS_FOR_MUCH, manifestWith, toolWith } from './operate-manifest.ts';

const MUCH = manifestWith(ASKS_FOR_MUCH);
const PROSE = '# Text\n\nCounts words.\n';

function between(before: Manifest, after: Manifest) {
  return differenceOf({ manifest: before, grant: null, prose: PROSE }, { manifest: after, prose: PROSE });
}

describe('differenceOf()', () => {
  test('finds nothing between a version and itself', () => {
    expect(between(MUCH, MUCH)).toEqual({
      widens: false,
      capabilities: { added: [], removed: [] },
      quotas: [],
      reviewers: null,
      tools: { added: [], removed: [], changed: [] },
      config: { kept: {}, added: [], removed: [] },
      prose: { changed: false, lines: [] },
    });
  });

  test('is wider when fewer people have to approve it', () => {
    const { trust } = MUCH;
    const careful = { ...MUCH, trust: { ...trust, reviewers: 3 } };
    const careless = { ...MUCH, trust: { ...trust, reviewers: 1 } };
    expect(between(careful, careless)).toMatchObject({ widens: true, reviewers: { before: 3, after: 1 } });
    expect(between(careless, careful)).toMatchObject({ widens: false, reviewers: { before: 1, after: 3 } });
  });

  test.each<[string, Partial<Asks>, string]>([
    ['a host', { http: [...(ASKS_FOR_MUCH.http ?? []), 'evil.example'] }, 'http=evil.example'],
    [
      'a host for a secret',
      {
        secrets: [
          { name: 'api_token', scope: 'skill', mayReveal: false, hosts: ['api.example.com', 'b.example'] },
        ],
      },
      'secret=api_token@b.example (skill)',
    ],
    [
      'the reading of a secret',
      { secrets: [{ name: 'api_token', scope: 'skill', mayReveal: true, hosts: ['api.example.com'] }] },
      'reveal=api_token (skill)',
    ],
    [
      'another scope of a secret',
      { secrets: [{ name: 'seed', scope: 'global', mayReveal: false, hosts: ['api.example.com'] }] },
      'secret=seed@api.example.com (global)',
    ],
    [
      'writing where it only read',
      { storage: { read: ['notes/', 'shared/'], write: ['notes/', 'shared/'] } },
      'storage:write=shared/',
    ],
    ['a key of the configuration', { config: ['unit', 'lang', 'proxy'] }, 'config:proxy'],
  ])('says that %s is new, and widens', (_, asks, term) => {
    const { widens, capabilities } = between(MUCH, manifestWith({ ...ASKS_FOR_MUCH, ...asks }));
    expect([widens, capabilities.added]).toEqual([true, [term]]);
    expect(between(manifestWith({ ...ASKS_FOR_MUCH, ...asks }), MUCH).capabilities.removed).toEqual([term]);
  });

  test('does not widen when something goes', () => {
    const { widens, capabilities } = between(MUCH, manifestWith());
    expect([widens, capabilities.added, capabilities.removed.length]).toEqual([false, [], 15]);
  });

  test('compares with what was granted: what was withheld is new again', () => {
    const grant = narrowGrant(MUCH, {
      withhold: ['storage:write', 'reveal=seed'],
      limits: { fuel: 10 },
      config: {},
    });
    const before = { manifest: MUCH, grant, prose: PROSE };
    const { widens, capabilities, quotas } = differenceOf(before, { manifest: MUCH, prose: PROSE });
    expect([widens, capabilities.added]).toEqual([true, ['reveal=seed (tenant)', 'storage:write=notes/']]);
    expect(quotas).toEqual([{ name: 'fuel', before: 10, after: null }]);
    const whole = { manifest: MUCH, grant: wholeGrant(MUCH), prose: PROSE };
    expect(differenceOf(whole, { manifest: MUCH, prose: PROSE }).widens).toBe(false);
  });

  test.each([
    [100, 101, true],
    [100, null, true],
    [101, 100, false],
    [null, 100, false],
    [null, null, false],
    [100, 100, false],
  ])('judges the fuel %s that becomes %s: widens is %s', (before, after, widens) => {
    const withFuel = (fuel: number | null) =>
      manifestWith({}, { quotas: { wallMs: null, fuel, memoryBytes: null } });
    const difference = between(withFuel(before), withFuel(after));
    expect(difference.widens).toBe(widens);
    expect(difference.quotas).toEqual(before === after ? [] : [{ name: 'fuel', before, after }]);
  });

  test('tells which tools came, went and changed, and how', () => {
    const before = manifestWith({}, { tools: [toolWith(), toolWith({ id: 'old' })] });
    const tools = [
      toolWith({ risk: 'high', description: 'Sends words.', inputSchema: { type: 'string' } }),
      toolWith({ id: 'fresh' }),
    ];
    const difference = between(before, manifestWith({}, { tools }));
    expect(difference.tools).toEqual({
      added: ['fresh'],
      removed: ['old'],
      changed: [
        {
          id: 'words',
          what: [
            'description: "Counts the words of a text." → "Sends words."',
            'risk: "low" → "high"',
            'input schema changed',
          ],
        },
      ],
    });
    expect(difference.widens).toBe(true);
  });

  test.each([
    ['a higher risk', [toolWith({ risk: 'medium' })], true],
    ['a new tool', [toolWith(), toolWith({ id: 'fresh' })], true],
    ['another description', [toolWith({ description: 'Else.' })], false],
    [
      'another order of the keys of a schema',
      [toolWith({ inputSchema: { additionalProperties: false, type: 'object' } })],
      false,
    ],
    ['no tool', [], false],
  ])('judges %s among the tools', (_, tools, widens) => {
    expect(between(manifestWith(), manifestWith({}, { tools })).widens).toBe(widens);
  });
});

describe('differenceOfLines()', () => {
  test('shows what changed with a little around it', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].join('\n');
    const after = ['a', 'b', 'c', 'D', 'e', 'f', 'g', 'h', 'i'].join('\n');
    expect(differenceOfLines(before, after, 200)).toEqual([
      ...['@ line 2', '  b', '  c', '- d', '+ D', '  e', '  f', '  g', '  h', '+ i'],
    ]);
    expect(differenceOfLines(before, after, 4)).toEqual([
      '@ line 2',
      '  b',
      '  c',
      '@ 7 more lines are not shown',
    ]);
  });

  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
    .map((lines) => lines.join('\n'));

  test('has every line that went and every line that came, in their order, whatever the texts', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = differenceOfLines(before, after, 1_000);
        expect(lines.length === 0).toBe(before === after);
        const [gone, come] = ['-', '+'].map(
          (sign) => lines.filter((line) => line.startsWith(sign)).length,
        ) as [number, number];
        // What is neither gone nor come is in both.
        expect(before.split('\n').length - gone).toBe(after.split('\n').length - come);
        expect(before.split('\n').length - gone).toBe(longestCommon(before.split('\n'), after.split('\n')));
      }),
    );
  });

  test('replaces what is too long to be compared, and cuts what is too long to be read', () => {
    const long = 'x\n'.repeat(3_000);
    const lines = differenceOfLines('short', long, 200);
    expect(lines[0]).toBe('@ too long, shown as replaced: 1 lines before, 3001 lines after');
    expect(lines).toHaveLength(200);
    expect(differenceOfLines('', 'x'.repeat(10_000), 200)[2]).toBe(`+ ${'x'.repeat(400)}…`);
    expect(differenceOfLines('a\n'.repeat(1_999), 'b\n'.repeat(1_999), 200)).toHaveLength(200);
  });
});

/** Written another way than the one that is tested: by trying both. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  const known = new Map<string, number>();
  const from = (i: number, j: number): number => {
    if (i === a.length || j === b.length) return 0;
    const key = `${i},${j}`;
    const found =
      known.get(key) ?? (a[i] === b[j] ? 1 + from(i + 1, j + 1) : Math.max(from(i + 1, j), from(i, j + 1)));
    known.set(key, found);
    return found;
  };
  return from(0, 0);
}
