/** The rows of the table of manifest keys, and how they are written. */
import type { TextName } from './texts.table.ts';

type Row<Type extends string, Rule> = {
  /** Dotted; `entrypoints.tools[].id` is a key of each [[entrypoints.tools]]. */
  readonly key: string;
  readonly type: Type;
  readonly sentence: string;
} & Rule;

type Leaf<Type extends string, Default, Rule> = Row<
  Type,
  Rule & {
    readonly isRequired?: true;
    /** The value when the file does not set it; null: none. */
    readonly default: Default | null;
    /** As written in a file. */
    readonly example: string;
  }
>;

type TextKey = Leaf<'text', string, { readonly rule: TextName }>;
export type ChoiceKey = Leaf<'choice', string, { readonly choices: readonly string[] }>;
export type IntegerKey = Leaf<'integer', number, { readonly min: number; readonly max: number }>;
type BooleanKey = Leaf<'boolean', boolean, object>;
export type TextsKey = Leaf<
  'texts',
  readonly string[],
  { readonly rule: TextName; readonly min: number; readonly max: number }
>;
/** A JSON Schema, as a table or as the path of a file in the package. */
export type SchemaKey = Leaf<'schema', never, { readonly of: 'input' | 'output' }>;
/** A table; one with defaults is read as an empty table when it is absent. */
type TableKey = Row<'table', { readonly isFilled: boolean }>;
/** Tables under `[[key]]`. */
export type TablesKey = Row<'tables', { readonly min: number; readonly max: number }>;
export type LeafKey = TextKey | ChoiceKey | IntegerKey | BooleanKey | TextsKey | SchemaKey;
export type ManifestKey = LeafKey | TableKey | TablesKey;

/** Each is a capability of its own, and has to be read by the person who approves it. */
export const MOST_ASKED = 64;

export function text(key: string, rule: TextName, example: string, sentence: string): TextKey {
  return { key, type: 'text', rule, default: null, example: JSON.stringify(example), sentence };
}

export function required(key: string, rule: TextName, example: string, sentence: string): TextKey {
  return { ...text(key, rule, example, sentence), isRequired: true };
}

export function flag(key: string, value: boolean, sentence: string): BooleanKey {
  return { key, type: 'boolean', default: value, example: String(!value), sentence };
}

export function texts(key: string, rule: TextName, example: readonly string[], sentence: string): TextsKey {
  const shown = `[${example.map((each) => JSON.stringify(each)).join(', ')}]`;
  return { key, type: 'texts', rule, min: 0, max: MOST_ASKED, default: [], example: shown, sentence };
}

export function quota(key: string, max: number, example: number, sentence: string): IntegerKey {
  return { key, type: 'integer', min: 1, max, default: null, example: String(example), sentence };
}

export function integer(
  key: string,
  rule: Pick<IntegerKey, 'min' | 'max' | 'default' | 'example'>,
  sentence: string,
): IntegerKey {
  return { key, type: 'integer', ...rule, sentence };
}

export function schema(key: string, of: SchemaKey['of'], example: string, sentence: string): SchemaKey {
  return { key, type: 'schema', of, isRequired: true, default: null, example, sentence };
}

/** A table that is read as an empty one where it is missing, so that its defaults are filled in. */
export function table(key: string, sentence: string): TableKey {
  return { key, type: 'table', isFilled: true, sentence };
}

export function tables(key: string, min: number, max: number, sentence: string): TablesKey {
  return { key, type: 'tables', min, max, sentence };
}

/** A table, and the rows of its keys, which are named without it. */
export function within(outer: TableKey | TablesKey, rows: readonly ManifestKey[]): readonly ManifestKey[] {
  return [outer, ...rows.map((row) => ({ ...row, key: `${outer.key}.${row.key}` }))];
}

/** A required value out of a few. */
export function choice(
  key: string,
  choices: readonly string[],
  example: string,
  sentence: string,
): ChoiceKey {
  const shown = JSON.stringify(example);
  return { key, type: 'choice', choices, isRequired: true, default: null, example: shown, sentence };
}
