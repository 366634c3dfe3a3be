import type { JsonSchema } from '../../core/tool.ts';

/** One table of the file after its keys were checked: what did not fit is not in it, or null in a list. */
export type Checked = ReadonlyMap<string, CheckedValue>;
export type CheckedValue =
  | string
  | number
  | boolean
  | { readonly schema: JsonSchema }
  | { readonly texts: readonly (string | null)[] }
  | { readonly table: Checked }
  | { readonly tables: readonly Checked[] };

const EMPTY: Checked = new Map();

export function textIn(table: Checked, name: string): string | null {
  const value = table.get(name);
  return typeof value === 'string' ? value : null;
}

export function numberIn(table: Checked, name: string): number | null {
  const value = table.get(name);
  return typeof value === 'number' ? value : null;
}

export function flagIn(table: Checked, name: string): boolean | null {
  const value = table.get(name);
  return typeof value === 'boolean' ? value : null;
}

/** The list with its places; null: it is not there, or is no list. */
export function textsIn(table: Checked, name: string): readonly (string | null)[] | null {
  const value = table.get(name);
  return typeof value === 'object' && 'texts' in value ? value.texts : null;
}

export function schemaIn(table: Checked, name: string): JsonSchema | null {
  const value = table.get(name);
  return typeof value === 'object' && 'schema' in value ? value.schema : null;
}

/** The table under a name, an empty one where there is none. */
export function tableIn(table: Checked, name: string): Checked {
  const value = table.get(name);
  return typeof value === 'object' && 'table' in value ? value.table : EMPTY;
}

export function tablesIn(table: Checked, name: string): readonly Checked[] {
  const value = table.get(name);
  return typeof value === 'object' && 'tables' in value ? value.tables : [];
}
