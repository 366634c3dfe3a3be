import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../../src/core/shape-problem.ts';
import type { LeafKey, ManifestKey } from '../../../src/skills/manifest/key-rows.ts';
import { MANIFEST_KEYS } from '../../../src/skills/manifest/manifest-keys.table.ts';
import { parseManifest } from '../../../src/skills/manifest/parse-manifest.ts';
import { readProse } from '../../../src/skills/manifest/prose.ts';
import { TEXTS } from '../../../src/skills/manifest/texts.table.ts';
import { read } from './rendered.ts';

const PAGE = readFileSync(new URL('../../../../../docs/skill-package.md', import.meta.url), 'utf8');
const TABLE = PAGE.slice(PAGE.indexOf('<!-- manifest:begin -->'), PAGE.indexOf('<!-- manifest:end -->'));
const EXAMPLE = /```toml\n(skill_id = .*?)```/s.exec(PAGE)?.[1] ?? '';

/** The row of the page for a row of the table. */
function rowOf(row: ManifestKey): string {
  if (row.type === 'table') return `| \`[${plain(row.key)}]\` | table | ${row.sentence} | |`;
  if (row.type === 'tables') {
    return `| \`[[${plain(row.key)}]]\` | ${row.min} to ${row.max} tables | ${row.sentence} | |`;
  }
  const value = row.default === null || typeof row.default === 'object' ? null : `\`${row.default}\``;
  const need = row.isRequired === true ? '; **required**' : value === null ? '' : `; default ${value}`;
  return `| \`${row.key}\` | ${typeOf(row)}${need} | ${row.sentence} | \`${row.example}\` |`;
}

function plain(key: string): string {
  return key.replaceAll('[]', '');
}

function typeOf(row: LeafKey): string {
  switch (row.type) {
    case 'text':
      return `text: ${TEXTS[row.rule].expected}`;
    case 'texts':
      return `list of ${row.min} to ${row.max} texts, each ${TEXTS[row.rule].expected}`;
    case 'choice':
      return row.choices.map((choice) => `\`"${choice}"\``).join(', ');
    case 'integer':
      return row.min === row.max ? `\`${row.min}\`` : `integer from ${row.min} to ${row.max}`;
    case 'boolean':
      return '`true` or `false`';
    case 'schema':
      return 'JSON Schema as a table, or the path of a `.json` file in the package';
  }
}

describe('docs/skill-package.md', () => {
  it('has exactly the keys of the table, each with its rule, default, meaning and example', () => {
    const rows = TABLE.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows).toEqual(MANIFEST_KEYS.map(rowOf));
  });

  it('shows a whole manifest that is taken', () => {
    expect(parseManifest(EXAMPLE, read)).toMatchObject({ ok: true, value: { id: 'acme.text' } });
  });

  it('shows a SKILL.md that is taken', () => {
    const [, prose = ''] = /```markdown\n(---\n.*?)```/s.exec(PAGE) ?? [];
    expect(readProse(new TextEncoder().encode(prose))).toMatchObject({
      ok: true,
      value: { name: 'text-tools' },
    });
  });

  it('shows the problems of the manifest that it shows beside them', () => {
    const [, broken = '', shown = ''] = /```toml\n(skil_id.*?)```.*?```text\n(.*?)```/s.exec(PAGE) ?? [];
    const result = parseManifest(broken, read);
    const lines = result.ok ? [] : result.problem.map((problem) => formatProblem(problem, 'skill.toml'));
    expect(lines.length).toBeGreaterThan(3);
    expect(shown.trim().split('\n')).toEqual(lines);
  });
});
