import { isTable, type RawTable } from '../../core/shape.ts';

/** One table of the file after its keys were checked: what did not fit is not in it, or null in a list. */
export type Checked = RawTable;

export function textIn(table: Checked, name: string): string | null {
  const value = table[name];
  return typeof value === 'string' ? value : null;
}

export function flagIn(table: Checked, name: string): boolean | null {
  const value = table[name];
  return typeof value === 'boolean' ? value : null;
}

/** The list, with null for each element that did not fit; null: the list is missing or did not fit. */
export function textsIn(table: Checked, name: string): readonly (string | null)[] | null {
  const value = table[name];
  return Array.isArray(value) ? (value as readonly (string | null)[]) : null;
}

/** The table under a name, an empty one where it is missing. */
export function tableIn(table: Checked, name: string): Checked {
  const value = table[name];
  return isTable(value) ? value : {};
}

export function tablesIn(table: Checked, name: string): readonly Checked[] {
  const value = table[name];
  return Array.isArray(value) ? (value as readonly Checked[]) : [];
}

/** The text of a key that is required, or has a default. */
export function textOf(table: Checked, name: string): string {
  return textIn(table, name) ?? '';
}

export function listIn(table: Checked, name: string): readonly string[] {
  return (textsIn(table, name) ?? []).filter((each) => each !== null);
}

export function isSet(table: Checked, name: string): boolean {
  return flagIn(table, name) === true;
}
