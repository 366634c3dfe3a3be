import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCases } from '../../../src/skills/audit/cases.ts';
import { MANIFEST } from './sample.ts';

const read = (files: Readonly<Record<string, string>>) =>
  parseCases(
    new Map(Object.entries(files).map(([path, text]) => [path, new Uint8Array(Buffer.from(text))])),
    MANIFEST,
  );
const one = (value: unknown) => read({ 'tests/a.json': JSON.stringify({ cases: [value] }) });
const CASE = { name: 'two', tool: 'words', input: { text: 'a b' }, output: { words: 2 } };

describe('parseCases()', () => {
  test('reads what a case gives and expects', () => {
    expect(one({ ...CASE, needs: ['storage', 'log'] })).toEqual({
      ok: true,
      cases: [
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
      cases: [{ expect: { code: 'tier/tool-error', message: 'no text' }, needs: [] }],
    });
  });

  test('takes an output that is null', () => {
    expect(one({ ...CASE, output: null })).toMatchObject({ cases: [{ expect: { output: null } }] });
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
    expect(parsed.ok && parsed.cases.map(({ file }) => file)).toEqual(['tests/a.json', 'tests/b.json']);
  });

  test('gives none where there are none', () => {
    expect(read({})).toEqual({ ok: true, cases: [] });
  });

  const { output: _, ...bare } = CASE;
  test.each([
    ['a list', [CASE], /case 1: it is no object/],
    ['another key', { ...CASE, outputs: 1 }, /the key "outputs" is unknown/],
    ['no name', { ...CASE, name: '' }, /its name is no text/],
    ['another tool', { ...CASE, tool: 'cut' }, /its tool is none of skill\.toml, expected one of words/],
    ['no input', { name: 'a', tool: 'words', output: 1 }, /it has no input/],
    ['no ending', bare, /both or none/],
    ['two endings', { ...CASE, code: 'tier/tool-error' }, /both or none/],
    ['a code of no table', { ...bare, code: 'tier/none' }, /its code is unknown/],
    ['a code that every object has', { ...bare, code: 'toString' }, /its code is unknown/],
    ['a message without a code', { ...CASE, message: 'x' }, /a message without a code/],
    ['a message that is no text', { ...bare, code: 'tier/tool-error', message: 1 }, /its message is no text/],
    ['a need that is none', { ...CASE, needs: ['root'] }, /its needs/],
    ['needs that are no list', { ...CASE, needs: 'log' }, /its needs/],
  ])('refuses a case with %s', (_name, value, why) => {
    expect(one(value)).toEqual({ ok: false, where: 'tests/a.json', what: expect.stringMatching(why) });
  });

  test('refuses one name twice, and says which case it is', () => {
    const parsed = read({ 'tests/a.json': JSON.stringify({ cases: [CASE, CASE] }) });
    expect(parsed).toMatchObject({
      ok: false,
      what: expect.stringContaining('case 2: there is another "two"'),
    });
  });

  test('refuses what is no file of cases', () => {
    expect(read({ 'tests/a.json': '[]' })).toMatchObject({
      ok: false,
      what: expect.stringContaining('{"cases": [...]}'),
    });
    expect(read({ 'tests/a.json': '{"cases":[],"x":1}' })).toMatchObject({ ok: false });
    expect(read({ 'tests/a.json': '{' })).toMatchObject({
      ok: false,
      what: expect.stringContaining('line 1'),
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
    expect(many(257)).toMatchObject({ ok: false, where: 'tests/' });
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
          expect(parsed.ok || parsed.what.startsWith('Cannot read')).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
