import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHARACTER } from '../../../../tests/volume/characters.ts';
import { volume } from '../../../../tests/volume/volume.ts';
import { loadCedar } from '../../src/policy/cedar.ts';
import { namedIn } from '../../src/policy/parse.ts';

const namesIn = (...texts: string[]) => {
  const { tools, skills } = namedIn(texts);
  return { tools: [...tools].sort(), skills: [...skills].sort() };
};

describe('namedIn()', () => {
  test('finds the tools and skills of every text, each once', () => {
    const first = 'permit(principal, action, resource == Tool::"a.b.c") when { resource in Skill::"a.b" };';
    const second =
      'forbid(principal, action, resource in Skill::"d.e") unless { [Tool::"a.b.c", Tool::"x"].contains(resource) };';
    expect(namesIn(first, second)).toEqual({ tools: ['a.b.c', 'x'], skills: ['a.b', 'd.e'] });
    expect(namesIn()).toEqual({ tools: [], skills: [] });
  });

  const rows: readonly [string, string][] = [
    ['no space', 'resource==Tool::"a"'],
    ['spaces and lines', 'resource == Tool\n::\t "a"'],
    ['comments', 'resource == Tool // Tool::"b"\r:: // "c"\n"a"'],
    ['escapes', 'resource == Tool::"\\u{61}"'],
    ['short escapes', 'resource == Tool::"\\x61"'],
  ];
  test.each(rows)('finds a name with %s', (_, text) => {
    expect(namesIn(text)).toEqual({ tools: ['a'], skills: [] });
  });

  test.each([
    '// Tool::"a"',
    '"Tool::" "a"',
    'MyTool::"a"',
    'Other::Tool::"a"',
    'Category::"a"',
    'Tool: "a"',
  ])('finds nothing in `%s`', (text) => {
    expect(namesIn(text)).toEqual({ tools: [], skills: [] });
  });

  test('takes any text, an endless string and an impossible escape among them', () => {
    fc.assert(fc.property(fc.string({ unit: CHARACTER }), (text) => void namedIn([text])));
    expect(namesIn('Tool::"a').tools).toEqual([]);
    expect(namesIn('Tool::"\\u{ffffff}"').tools).toEqual(['\\u{ffffff}']);
  });

  test.each([
    'Tool // ',
    'Tool//\n',
    'Tool ',
    '// ',
    ' ',
    '"\\',
    'Tool::"\\" ',
    'Tool::',
    'Tool::"a"',
    'Skill // x\r',
  ])('gets through a quarter of a million characters of `%s`', (piece) => {
    const text = piece.repeat(262_144 / piece.length);
    const endings = ['', '::"a"', '"'];
    for (const end of endings) expect(namedIn([`Tool ${text}${end}`]).tools.size).toBeLessThanOrEqual(2);
  });

  test('finds every name that Cedar finds', () => {
    const cedar = loadCedar();
    const gap = fc.constantFrom('', '', ' ', '\n', ' // Tool::"gone"\n', '//\r');
    const id = fc.stringMatching(/^[a-z][a-z.-]{0,12}$/).map((text) => ({ text, spelt: text }));
    const escaped = id.map(({ text }) => ({
      text,
      spelt: `\\u{${text.charCodeAt(0).toString(16)}}${text.slice(1)}`,
    }));
    const reference = fc
      .record({ type: fc.constantFrom('Tool', 'Skill'), a: gap, b: gap, id: fc.oneof(id, id, escaped) })
      .map(({ type, a, b, id }) => `${type}${a}::${b}"${id.spelt}"`);
    const policy = fc
      .tuple(reference, reference, gap)
      .map(
        ([scope, other, space]) =>
          `permit(principal, action, resource in ${scope}) when {${space}resource in [${other}]};`,
      );
    fc.assert(
      fc.property(policy, (text) => {
        const answer = cedar.policyToJson(text);
        if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
        const found = [...JSON.stringify(answer.json).matchAll(/"type":"(Tool|Skill)","id":("[^"]*")/g)];
        const { tools, skills } = namedIn([text]);
        expect(found).toHaveLength(2);
        for (const [, type, quoted = ''] of found)
          expect(type === 'Tool' ? tools : skills).toContain(JSON.parse(quoted));
      }),
      { numRuns: volume(300, 30) },
    );
  });
});
