import { MANIFEST_KEYS, type ManifestKey } from './manifest-keys.table.ts';

/** The rows of one table by the names that they have in it. */
export type Fields = ReadonlyMap<string, ManifestKey>;

/** The rows of each table, by the key of the table; the file itself has the empty key. */
const FIELDS: ReadonlyMap<string, Fields> = collect();
const NONE: Fields = new Map();

/** The keys that a table can have. */
export function fieldsOf(tableKey: string): Fields {
  return FIELDS.get(tableKey) ?? NONE;
}

/** The last part of a key, as the file has it. */
export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1).replace('[]', '');
}

function collect(): ReadonlyMap<string, Fields> {
  const tables = new Map<string, Map<string, ManifestKey>>();
  for (const row of MANIFEST_KEYS) {
    const dot = row.key.lastIndexOf('.');
    const table = dot < 0 ? '' : row.key.slice(0, dot);
    const fields = tables.get(table) ?? new Map<string, ManifestKey>();
    tables.set(table, fields.set(nameOf(row.key), row));
  }
  return tables;
}
