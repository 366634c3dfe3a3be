import { sentenceOf } from '../../../src/core/result.ts';
import { formatPath, type LocatedProblem } from '../../../src/core/shape-problem.ts';
import type { LeafKey, ManifestKey } from '../../../src/skills/manifest/key-rows.ts';
import { MANIFEST_KEYS } from '../../../src/skills/manifest/manifest-keys.table.ts';
import { nameOf } from '../../../src/skills/manifest/manifest-shape.ts';
import { parseManifest } from '../../../src/skills/manifest/parse-manifest.ts';

/** The files of the package that the samples name. */
export const FILES: Readonly<Record<string, string>> = {
  'schemas/words.input.json': '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}',
  'schemas/broken.json': '{\n  "type": }',
  'schemas/list.json': '[]',
  'schemas/text.json': '{"type":"string"}',
  'schemas/deep.json': `${'{"not":'.repeat(40)}{}${'}'.repeat(40)}`,
  'schemas/twice.json': '{"type":"object","type":"string"}',
};

export function read(path: string): Uint8Array | null {
  const text = Object.hasOwn(FILES, path) ? FILES[path] : undefined;
  return text === undefined ? null : new TextEncoder().encode(text);
}

export const LEAVES = MANIFEST_KEYS.filter(
  (row): row is LeafKey => row.type !== 'table' && row.type !== 'tables',
);

/** What is written for a key: another line, or null for none. */
export type Change = (row: LeafKey) => string | null;

/** A manifest of every key with the example of the table, one on a line, and the line of each. */
export function render(change: Change = lineOf): {
  readonly text: string;
  readonly lines: ReadonlyMap<string, number>;
} {
  const written: string[] = [];
  const lines = new Map<string, number>();
  for (const row of MANIFEST_KEYS) {
    const line = isLeaf(row) ? change(row) : headerOf(row);
    if (line === null) continue;
    written.push(line);
    lines.set(row.key, written.length);
  }
  return { text: `${written.join('\n')}\n`, lines };
}

export function lineOf(row: LeafKey): string {
  return `${nameOf(row.key)} = ${row.example}`;
}

function isLeaf(row: ManifestKey): row is LeafKey {
  return row.type !== 'table' && row.type !== 'tables';
}

function headerOf({ key, type }: ManifestKey): string {
  const name = key.replaceAll('[]', '');
  return type === 'tables' ? `[[${name}]]` : `[${name}]`;
}

/** The whole manifest of examples with one key changed. */
export function renderWith(key: string, value: string): ReturnType<typeof render> {
  return render((row) => (row.key === key ? `${nameOf(key)} = ${value}` : lineOf(row)));
}

/** A problem as tests compare it. */
export function flat(problem: LocatedProblem) {
  const { position, path, hint = null } = problem;
  return { ...position, path: formatPath(path), what: sentenceOf(problem), hint };
}

export function problemsOf(source: string | Uint8Array): readonly ReturnType<typeof flat>[] {
  const result = parseManifest(source, read);
  return result.ok ? [] : result.problem.map(flat);
}

/** A key as a problem has it, in a manifest that has one of each table. */
export function firstOf(key: string): string {
  return key.replaceAll('[]', '[0]');
}
