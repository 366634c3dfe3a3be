import * as shape from '../../core/shape.ts';
import type { LeafKey, ManifestKey } from './key-rows.ts';
import { MANIFEST_KEYS } from './manifest-keys.table.ts';
import { type ReadEntry, schemaShape } from './schema-shape.ts';
import { misfitIn, TEXTS, type TextName } from './texts.table.ts';

/* The table of keys as a shape: what each table of skill.toml can have, and the defaults of missing keys. */

/** The rows of one table by the names that they have in it. */
type ManifestFields = ReadonlyMap<string, ManifestKey>;

/** The rows of each table, by the key of the table; the file itself has the empty key. */
const FIELDS: ReadonlyMap<string, ManifestFields> = collect();
const OTHERS = { expected: 'a key of docs/skill-package.md', keys: MANIFEST_KEYS.map(({ key }) => key) };

/** The keys that a table can have. */
export function fieldsOf(tableKey: string): ManifestFields {
  return FIELDS.get(tableKey) ?? new Map();
}

/** The last part of a key, as the file has it. */
export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1).replace('[]', '');
}

function collect(): ReadonlyMap<string, ManifestFields> {
  const tables = new Map<string, Map<string, ManifestKey>>();
  for (const row of MANIFEST_KEYS) {
    const dot = row.key.lastIndexOf('.');
    const table = dot < 0 ? '' : row.key.slice(0, dot);
    const fields = tables.get(table) ?? new Map<string, ManifestKey>();
    tables.set(table, fields.set(nameOf(row.key), row));
  }
  return tables;
}

/** The shape of a whole manifest, whose schemas may be in files of the package. */
export function manifestShape(read: ReadEntry): shape.Shape<shape.RawTable> {
  return tableShape('', read);
}

function tableShape(key: string, read: ReadEntry): shape.Shape<shape.RawTable> {
  const fields = [...fieldsOf(key)].map(([name, row]) => [name, fieldOf(name, row, read)]);
  return shape.table(Object.fromEntries(fields) as shape.TableFields, { header: `[${key}]`, others: OTHERS });
}

function fieldOf(name: string, row: ManifestKey, read: ReadEntry): shape.TableField<unknown> {
  if (row.type === 'table') {
    const table = tableShape(row.key, read);
    return { shape: table, example: null, fill: (site) => (row.isFilled ? table({}, site) : undefined) };
  }
  if (row.type === 'tables') {
    const { key, min, max } = row;
    const header = `[[${key.replace(/\[\]/g, '')}]]`;
    const list = shape.tables(tableShape(key, read), { min, max, header });
    return { shape: list, example: min > 0 ? header : null, fill: () => [] };
  }
  const example = row.isRequired === true ? `${name} = ${row.example}` : null;
  return { shape: leafShape(row, read), example, fill: () => row.default ?? undefined };
}

function leafShape(row: LeafKey, read: ReadEntry): shape.Shape<unknown> {
  switch (row.type) {
    case 'text':
      return textShape(row.rule);
    case 'texts':
      return shape.texts(textShape(row.rule), row);
    case 'choice':
      return shape.choice(row.choices);
    case 'integer':
      return shape.integer(row);
    case 'boolean':
      return shape.flag;
    case 'schema':
      return schemaShape(row, read);
  }
}

function textShape(rule: TextName): shape.Shape<string> {
  return shape.text(TEXTS[rule].expected, (text) => misfitIn(rule, text));
}
