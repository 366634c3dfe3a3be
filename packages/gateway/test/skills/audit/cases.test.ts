import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { volume } from '../../../../../tests/volume/volume.ts';
import { sentenceOf } from '../../../src/core/result.ts';
import { parseCases } from '../../../src/skills/audit/cases.ts';
import { MANIFEST } from './sample.ts';

const read = (files: Readonly<Record<string, string>>) =>
  parseCases(
    new Map(Object.entries(files).map(([path, text]) => [path, new Uint8Array(Buffer.from(text))])),
    MANIFEST,
  );
const one = (value: unknown) => read({ 'tests/a.json': JSON.stringify({ cases: [value] }) });
const whatOf = (parsed: ReturnType<typeof read>) => (parsed.ok ? '' : sentenceOf(parsed.problem));
const CASE = { name: 'two', tool: 'words', input: { text: 'a b' }, output: { words: 2 } };

describe('parseCases()', () => {
  test('reads what a case gives and expects', () => {
    expect(one({ ...CASE, needs: ['storage', 'log'] })).toEqual({
      ok: true,
      value: [
        {
          ...{ name: 'two', file: 'tests/a.json', tool: 'words', inputText: '{"text":"a b"}' },
          ...{ expect: { output: { words: 2 } }, needs: ['storage', 'log'] },
        },
      ],
    });
  });

  test('reads a case that is to fail', () => {
    const { output: _, ...rest } = CASE;
    const failing = one({ ...rest, code: 'tier/tool-error', message: 'no text' });
    expect(failing).toMatchObject({
      value: [{ expect: { code: 'tier/tool-error', message: 'no text' }, needs: [] }],
    });
  });

  test('takes an output that is null', () => {
    expect(one({ ...CASE, output: null })).toMatchObject({ value: [{ expect: { output: null } }] });
  });

  test('reads the files of the folder in their order, and no others', () => {
    const text = JSON.stringify({ cases: [CASE] });
    const files = {
      'other/c.json': 'x',
      'tests/a.json': text,
      'tests/b.json': text,
      'tests/data.txt': 'x',
      'tests/deep/d.json': 'x',
    };
    const parsed = read(files);
    expect(parsed.ok && parsed.value.map(({ file }) => file)).toEqual(['tests/a.json', 'tests/b.json']);
  });

  test('gives none where there are none', () => {
    expect(read({})).toEqual({ ok: true, value: [] });
  });

  const { output: _, ...bare } = CASE;
  test.each([
    ['a list', [CASE], /cases\[0\]: it is a list, expected a table/],
    ['another key', { ...CASE, outputs: 1 }, /the key "cases\[0\]\.outputs": it is unknown/],
    ['no name', { ...CASE, name: '' }, /cases\[0\]\.name: it is "", expected a text of 1 to 200/],
    ['another tool', { ...CASE, tool: 'cut' }, /cases\[0\]\.tool: it is "cut", expected one of "words"/],
    ['no input', { name: 'a', tool: 'words', output: 1 }, /it has no input/],
    ['no ending', bare, /neither output and code/],
    ['two endings', { ...CASE, code: 'tier/tool-error' }, /both output and code/],
    [
      'a code of no table',
      { ...bare, code: 'tier/none' },
      /code: it is "tier\/none", expected a code of docs/,
    ],
    [
      'a code that every object has',
      { ...bare, code: 'toString' },
      /code: it is "toString", expected a code/,
    ],
    ['a message without a code', { ...CASE, message: 'x' }, /a message "x" and no code/],
    [
      'a message that is no text',
      { ...bare, code: 'tier/tool-error', message: 1 },
      /message: it is the number 1, expected a text/,
    ],
    ['a need that is none', { ...CASE, needs: ['root'] }, /needs\[0\]: it is "root"/],
    ['needs that are no list', { ...CASE, needs: 'log' }, /needs: it is "log", expected a list/],
  ])('refuses a case with %s', (_name, value, why) => {
    expect(one(value)).toMatchObject({ ok: false, problem: { file: 'tests/a.json' } });
    expect(whatOf(one(value))).toMatch(why);
  });

  test('refuses one name twice, and says which case it is', () => {
    const parsed = read({ 'tests/a.json': JSON.stringify({ cases: [CASE, CASE] }, null, 1) });
    expect(whatOf(parsed)).toContain('cases[1].name: "two" is used twice');
    expect(parsed).toMatchObject({ problem: { position: { line: 14, column: 12 } } });
  });

  test('refuses what is no file of cases', () => {
    expect(read({ 'tests/a.json': '[]' })).toMatchObject({
      ok: false,
      problem: { hint: expect.stringContaining('{"cases": [...]}') },
    });
    expect(read({ 'tests/a.json': '{"cases":[],"x":1}' })).toMatchObject({ ok: false });
    expect(read({ 'tests/a.json': '{' })).toMatchObject({
      ok: false,
      problem: { position: { line: 1, column: 2 } },
    });
  });

  test('takes 256 cases and no more', () => {
    const many = (count: number) =>
      read({
        'tests/a.json': JSON.stringify({
          cases: Array.from({ length: count }, (_, at) => ({ ...CASE, name: `${at}` })),
        }),
      });
    expect(many(256).ok).toBe(true);
    expect(many(257)).toMatchObject({ ok: false, problem: { file: 'tests/' } });
  });

  test('never throws, whatever a file has', () => {
    const values = fc.dictionary(
      fc.constantFrom('name', 'tool', 'input', 'output', 'code', 'message', 'needs', 'x'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          values.map((value) => JSON.stringify({ cases: [value] })),
        ),
        (text) => {
          const parsed = read({ 'tests/a.json': text });
          expect(parsed.ok || whatOf(parsed).startsWith('Cannot use')).toBe(true);
        },
      ),
      { numRuns: volume(1_000, 30) },
    );
  });
});
