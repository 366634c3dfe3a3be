import { describe, expect, it } from 'vitest';
import { LIMIT_CEILINGS } from '../../../src/core/limits.ts';
import type { LeafKey } from '../../../src/skills/manifest/key-rows.ts';
import { MANIFEST_KEYS } from '../../../src/skills/manifest/manifest-keys.table.ts';
import { nameOf } from '../../../src/skills/manifest/manifest-shape.ts';
import { parseManifest } from '../../../src/skills/manifest/parse-manifest.ts';
import type { TextName } from '../../../src/skills/manifest/texts.table.ts';
import { firstOf, LEAVES, lineOf, problemsOf, read, render, renderWith } from './rendered.ts';

/** Values of TOML by their type. What a key does not take of them is refused. */
const VALUES: readonly (readonly [type: string, value: string])[] = [
  ['text', '"acme"'],
  ['text', '""'],
  ['integer', '1'],
  ['integer', '-1'],
  ['integer', '99999999999999999999'],
  ['float', '1.0'],
  ['float', 'nan'],
  ['float', '-inf'],
  ['boolean', 'true'],
  ['date', '1979-05-27'],
  ['date', '1979-05-27T07:32:00Z'],
  ['date', '07:32'],
  ['list', '[]'],
  ['list', '[1]'],
  ['list', '[[]]'],
  ['table', '{}'],
  ['table', '{ a = 1 }'],
];
const TAKEN: Readonly<Record<LeafKey['type'], readonly string[]>> = {
  text: ['text'],
  choice: ['text'],
  integer: ['integer'],
  boolean: ['boolean'],
  texts: ['list'],
  schema: ['text', 'table'],
};
const WRONG_TYPES = LEAVES.flatMap((row) =>
  VALUES.filter(([type]) => !TAKEN[row.type].includes(type)).map(([, value]) => ({ key: row.key, value })),
);

const LONG = 'a'.repeat(3_000);
const HIDDEN = [
  'a\\u0000',
  'a\\nb',
  'a\\tb',
  'a\\u007fb',
  'a\\u202eb',
  'a\\u2066b',
  'a\\u200bb',
  'a\\u00adb',
  'a\\U000E0041b',
  'a\\u2028b',
  'a\\ufe0fb',
  'a\\u2800b',
];
const WORDS = ['', ' ', ' a', 'a ', LONG, ...HIDDEN];
const PATHS = [
  '',
  '.',
  '..',
  '/a.wasm',
  '../a.wasm',
  'a/../b.wasm',
  'a//b.wasm',
  './a.wasm',
  '.a.wasm',
  'a\\\\b.wasm',
  'a b.wasm',
  'é.wasm',
  'nul.wasm',
  `${LONG}.wasm`,
  `${'a/'.repeat(8)}a.wasm`,
];
const NAMES = ['', 'A', 'a b', '-a', 'a-', '.a', 'é', 'a/b', '*', 'a'.repeat(65), 'a\\u0000'];
/** Texts that are none of their shape. */
const WRONG_TEXTS: Readonly<Record<TextName, readonly string[]>> = {
  publisher: ['', 'Acme', 'a_b', 'a.b', '-a', 'a-', 'a--b', 'é', 'a'.repeat(33), 'palisade', 'local', 'test'],
  'skill-id': [
    '',
    'acme',
    'acme.',
    '.acme',
    'acme..b',
    'acme.A',
    'acme.a_b',
    'acme.a--b',
    'acme.a.b.c',
    'acme/b',
    `acme.${'a'.repeat(60)}`,
    `acme.${'a'.repeat(33)}`,
    'evil.text',
    'acmes.text',
  ],
  'tool-id': ['', 'A', '_a', 'a_', 'a.b', 'a b', 'a'.repeat(33), '../a'],
  version: [
    '',
    '1',
    '1.2',
    'v1.2.3',
    '01.2.3',
    '1.2.3-01',
    '1.2.3+',
    'latest',
    '^1.2.3',
    `1.2.3-${'a'.repeat(60)}`,
  ],
  name: [...WORDS, 'a'.repeat(81)],
  description: [...WORDS, 'a'.repeat(1_025)],
  export: [...WORDS, 'a'.repeat(129)],
  license: ['', ' MIT', 'MIT\\n', 'a'.repeat(129), 'MIT;GPL'],
  homepage: [
    '',
    'http://example.com',
    'example.com',
    'https://',
    'https://a b',
    'https://u:p@example.com',
    'https://ex\\u00e4mple.com',
    'javascript:alert(1)',
    `https://example.com/${LONG}`,
  ],
  module: [...PATHS, 'a.wat', 'a', 'a.wasm.txt', '.wasm', 'dir/.wasm'],
  source: PATHS,
  'capability-name': NAMES,
  'egress-entry': [
    '',
    '*',
    '!example.com',
    'ftp://example.com',
    'a b',
    'example.com:0',
    'example.com:99999',
    'user@example.com',
    '0.0.0.0/0',
    '*.com',
    'GEHT example.com',
    LONG,
  ],
  'secret-host': [
    '',
    '*',
    '!api.example.com',
    'https://api.example.com',
    'api.example.com/v1',
    'GET api.example.com',
    'other.example.com',
    'api.example.com:80',
    'example.com',
    'xapi.example.com',
    '*.example.com',
  ],
  'storage-root': [
    'a//b',
    '../a',
    'a/..',
    './a',
    '//',
    '/a',
    'a\\\\b',
    'a\\u0000',
    'e\\u0301',
    'a\\u2044b',
    'a'.repeat(514),
  ],
  'component-name': ['', ' a', 'a b', 'é', 'a'.repeat(215)],
  'component-version': ['', ' 1', '1 2', '-1', 'é', '1'.repeat(129)],
  purl: ['', 'npm/a@1', 'pkg:', 'pkg:npm', 'pkg:npm/', 'pkg:NPM/a', 'pkg:npm/a b', `pkg:npm/${LONG}`],
};

function wrongValuesOf(row: LeafKey): readonly string[] {
  switch (row.type) {
    case 'text':
      return WRONG_TEXTS[row.rule].map((text) => `"${text}"`);
    case 'texts':
      return WRONG_TEXTS[row.rule].map((text) => `["${text}"]`);
    case 'choice':
      return ['"other"', '""', `"${row.choices[0]?.toUpperCase()}"`, `"${row.choices[0]} "`];
    case 'integer':
      return [row.min - 1, row.max + 1, -1].map(String);
    case 'boolean':
      return [];
    case 'schema':
      return [
        '""',
        '"../a.json"',
        '"schemas/none.json"',
        '"schemas/broken.json"',
        '"schemas/list.json"',
        '"schemas/deep.json"',
        '"schemas/twice.json"',
        '"text.wasm"',
      ];
  }
}

const WRONG_VALUES = LEAVES.flatMap((row) => wrongValuesOf(row).map((value) => ({ key: row.key, value })));

describe('parseManifest() of every key of the table', () => {
  it('takes the example of each', () => {
    const result = parseManifest(render().text, read);
    expect(result).toMatchObject({ ok: true, value: { id: 'acme.text', version: '1.2.0' } });
  });

  it.each(WRONG_TYPES)('refuses $key = $value, which is of another type, at the value', ({ key, value }) => {
    const { text, lines } = renderWith(key, value);
    const [first, ...more] = problemsOf(text);
    expect(first).toMatchObject({ line: lines.get(key), column: nameOf(key).length + 4, path: firstOf(key) });
    expect(first?.what).toMatch(/^Cannot use \S+: it is .+, expected .+/);
    expect(more).toEqual([]);
  });

  it.each(WRONG_VALUES)('refuses $key = $value at the value', ({ key, value }) => {
    const { text, lines } = renderWith(key, value);
    const isList = value.startsWith('[');
    const problems = problemsOf(text);
    expect(problems[0]).toMatchObject({
      line: lines.get(key),
      column: nameOf(key).length + (isList ? 5 : 4),
      path: `${firstOf(key)}${isList ? '[0]' : ''}`,
    });
    expect(problems[0]?.what).toMatch(/^Cannot use \S+: .+, expected .+/);
  });

  it.each(LEAVES.filter((row) => row.type === 'texts'))(
    'refuses what is no text in $key, at its place',
    ({ key }) => {
      const { text, lines } = renderWith(key, '[ 7, true]');
      const places = problemsOf(text).map(({ line, column, path }) => ({ line, column, path }));
      const start = nameOf(key).length + 4;
      const line = lines.get(key);
      expect(places).toEqual([
        { line, column: start + 2, path: `${firstOf(key)}[0]` },
        { line, column: start + 5, path: `${firstOf(key)}[1]` },
      ]);
    },
  );

  it.each(LEAVES)('knows what to do without $key', (row) => {
    const { text, lines } = render((each) => (each === row ? null : lineOf(each)));
    const table = row.key.includes('.') ? row.key.slice(0, row.key.lastIndexOf('.')) : null;
    const problems = problemsOf(text).filter(({ path }) => path === firstOf(row.key));
    if (row.isRequired !== true && row.key !== 'capabilities.secrets[].hosts') expect(problems).toEqual([]);
    else expect(problems[0]).toMatchObject({ line: table === null ? 1 : lines.get(table) });
  });

  it.each(LEAVES)('says where an unknown key stands that is spelled like $key', (row) => {
    const name = nameOf(row.key);
    const { text, lines } = render((each) => (each === row ? `${lineOf(each)}\nx${name} = 1` : lineOf(each)));
    expect(problemsOf(text)).toMatchObject([
      {
        line: (lines.get(row.key) ?? 0) + 1,
        column: 1,
        path: `${firstOf(row.key).slice(0, -name.length)}x${name}`,
      },
    ]);
    expect(problemsOf(text)[0]?.hint).toContain('did you mean');
  });

  it.each(LEAVES)('refuses $key when it is there twice', (row) => {
    const { text, lines } = render((each) =>
      each === row ? `${lineOf(each)}\n${lineOf(each)}` : lineOf(each),
    );
    expect(problemsOf(text)).toMatchObject([{ line: (lines.get(row.key) ?? 0) + 1, column: 1, path: '' }]);
  });

  it.each(MANIFEST_KEYS.filter(({ key, type }) => type.startsWith('table') && !key.includes('.')))(
    'refuses another value in the place of the table $key',
    ({ key, type }) => {
      const name = key.replace('[]', '');
      const without = render().text.split('\n');
      const start = without.findIndex((line) => line.startsWith(`[${name}`) || line.startsWith(`[[${name}`));
      const kept = without.slice(0, start).join('\n').split('\n[')[0];
      for (const value of ['1', '"x"', 'true', '1.5', '1979-05-27', type === 'tables' ? '{}' : '[]']) {
        const problem = problemsOf(`${name} = ${value}\n${kept}`).find(({ path }) => path === name);
        expect(problem).toMatchObject({ line: 1, column: name.length + 4 });
      }
    },
  );

  it('holds quotas to what no call gets more of', () => {
    const max = LIMIT_CEILINGS.memoryBytes;
    expect(problemsOf(renderWith('capabilities.quotas.memory_bytes', String(max)).text)).toEqual([]);
    expect(problemsOf(renderWith('capabilities.quotas.memory_bytes', String(max + 1)).text)).toHaveLength(1);
  });
});
