import { quote } from './hostile-text.ts';
import type { Result, ValuePath } from './result.ts';
import {
  describeValue,
  didYouMean,
  formatPath,
  type Misfit,
  misfitAt,
  type ShapeProblem,
} from './shape-problem.ts';
import { fold, nearest } from './suggest.ts';

/*
 * The checker of everything that people and packages write as TOML or JSON: configuration, manifests, test cases,
 * statements. A shape says what a value must be. Checking fills in defaults and finds every problem, each with the path
 * of the value; `locate` adds the positions in the text. Nothing is repaired, and an unknown key is a problem unless
 * the table says otherwise. (Requests of doors are checked by zod, inputs of tools by their JSON Schemas.)
 */

/** Returns the value, or notes what is wrong with it and returns undefined. */
export type Shape<T> = (raw: unknown, site: ValueSite) => T | undefined;

export type ValueSite = { readonly path: ValuePath; readonly found: ShapeProblem[] };

/** A table as TOML and JSON parsers return it. */
export type RawTable = Readonly<Record<string, unknown>>;

/** Far more than are ever displayed; a hostile text could cause one per byte. */
const MAX_FOUND = 10_000;

/** Checks a value: returns it, or everything that is wrong with it. */
export function check<T>(raw: unknown, shape: Shape<T>): Result<T, readonly ShapeProblem[]> {
  const found: ShapeProblem[] = [];
  const value = shape(raw, { path: [], found });
  return found.length === 0 && value !== undefined ? { ok: true, value } : { ok: false, problem: found };
}

export function note(site: ValueSite, misfit: Misfit): undefined {
  if (site.found.length < MAX_FOUND) site.found.push(misfitAt(site.path, misfit));
}

/** Whether a parsed value is a table: neither a list nor a date, which are objects as well. */
export function isTable(raw: unknown): raw is RawTable {
  return typeof raw === 'object' && raw !== null && !Array.isArray(raw) && !(raw instanceof Date);
}

export const anything: Shape<unknown> = (raw) => raw;

const QUOTES_HINT = 'put text in double quotes';

export function text(expected: string, misfitOf: (text: string) => Misfit | null): Shape<string> {
  return (raw, site) => {
    const misfit =
      typeof raw === 'string' ? misfitOf(raw) : { is: describeValue(raw), expected, hint: QUOTES_HINT };
    return misfit === null ? (raw as string) : note(site, misfit);
  };
}

export function textLike(expected: string, accepts: (text: string) => boolean): Shape<string> {
  return text(expected, (raw) => (accepts(raw) ? null : { is: describeValue(raw), expected }));
}

export function choice<const C extends string>(choices: readonly C[]): Shape<C> {
  const expected = `one of ${choices.map(quote).join(', ')}`;
  return (raw, site) => {
    const chosen = choices.find((each) => each === raw);
    if (chosen !== undefined) return chosen;
    const hint = typeof raw === 'string' ? didYouMean(nearest(raw, choices)) : QUOTES_HINT;
    return note(site, { is: describeValue(raw), expected, hint });
  };
}

export const flag: Shape<boolean> = (raw, site) => {
  if (typeof raw === 'boolean') return raw;
  const hint = unquoteHint(raw, /^(?:true|false)$/);
  return note(site, { is: describeValue(raw), expected: 'true or false', hint });
};

type Range = { readonly min: number; readonly max: number; readonly multipleOf?: number };

/** An integer of TOML; parsed as bigint, so that no float is mistaken for one. */
export function integer({ min, max, multipleOf = 1 }: Range): Shape<number> {
  const kind = multipleOf === 1 ? 'an integer' : `a multiple of ${multipleOf}`;
  const expected = min === max ? `the integer ${min}` : `${kind} from ${min} to ${max}`;
  return (raw, site) => {
    const isFit = typeof raw === 'bigint' && raw >= min && raw <= max && raw % BigInt(multipleOf) === 0n;
    if (isFit) return Number(raw);
    const isFloat = typeof raw === 'number';
    const hint = isFloat ? 'write it without a decimal point or exponent' : unquoteHint(raw, /^\d+$/);
    return note(site, { is: describeValue(raw), expected, hint });
  };
}

function unquoteHint(raw: unknown, meant: RegExp): string | null {
  return typeof raw === 'string' && meant.test(raw) ? `write ${raw.slice(0, 20)} without quotes` : null;
}

type ListRule = { readonly min?: number; readonly max?: number };

/** A list of distinct texts. In a list with problems, an invalid element is null. */
export function texts(
  element: Shape<string>,
  { min = 0, max = 65_536 }: ListRule = {},
): Shape<readonly string[]> {
  return (raw, site) => {
    if (!Array.isArray(raw)) {
      const hint = typeof raw === 'string' ? `write it as [${quote(raw)}]` : null;
      return note(site, { is: describeValue(raw), expected: 'a list of strings', hint });
    }
    if (raw.length < min || raw.length > max) {
      const is = raw.length === 0 ? 'it is empty' : `it has ${raw.length} elements`;
      const least = min === 1 ? 'at least one element' : `at least ${min} elements`;
      return note(site, { is, expected: raw.length < min ? least : `at most ${max} elements` });
    }
    const seen = new Set<unknown>();
    return raw.map((each: unknown, i) => {
      const inner = { path: [...site.path, i], found: site.found };
      const value = element(each, inner) ?? null;
      if (value !== null && seen.has(value)) {
        note(inner, { is: `${quote(value)} occurs twice`, expected: 'each element once' });
      }
      seen.add(value);
      return value as string;
    });
  };
}

/** A key of a table: its shape, and its value where the key is missing. */
export type TableField<T, Gap = never> = {
  readonly shape: Shape<T>;
  /** How the key is written, for required keys; null: it may be missing. */
  readonly example: string | null;
  /** What a missing key means. */
  readonly fill: (site: ValueSite) => T | Gap | undefined;
};

export function required<T>(shape: Shape<T>, example = ''): TableField<T> {
  return { shape, example, fill: () => undefined };
}

export function optional<T>(shape: Shape<T>): TableField<T, null> {
  return { shape, example: null, fill: () => null };
}

export function withDefault<T>(shape: Shape<T>, value: T): TableField<T> {
  return { shape, example: null, fill: () => value };
}

// biome-ignore lint/suspicious/noExplicitAny: a table has fields of any types.
export type TableFields = Readonly<Record<string, TableField<any, any>>>;
export type FilledTable<F extends TableFields> = {
  readonly [K in keyof F]: F[K] extends TableField<infer T, infer Gap> ? T | Gap : never;
};

export type TableRule<F extends TableFields> = {
  /** How such a table is written, for a hint: `[limits]`. */
  readonly header?: string;
  /** What is permitted beside these keys: nothing, with how to report it, or anything. */
  readonly others?: 'ignored' | { readonly expected: string; readonly keys: readonly string[] };
  /** Constraints between keys; checked when each is valid by itself. */
  readonly also?: (value: FilledTable<F>, site: ValueSite) => void;
};

/** A table with these keys. Invalid parts are not in the result. */
export function table<F extends TableFields>(fields: F, rule: TableRule<F> = {}): Shape<FilledTable<F>> {
  const { header, others, also } = rule;
  return (raw, site) => {
    const { path, found } = site;
    if (!isTable(raw)) {
      const hint = header === undefined ? null : `write it as ${header}`;
      return note(site, { is: describeValue(raw), expected: 'a table', hint });
    }
    const before = found.length;
    const value: Record<string, unknown> = {};
    for (const [name, content] of Object.entries(raw)) {
      const inner = { path: [...path, name], found };
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      // Boundary: a key that this version does not know is never ignored: it could be one that restricts something.
      if (field === undefined) noteUnknown(inner, Object.keys(fields), others);
      else set(value, name, field.shape(content, inner));
    }
    for (const [name, field] of Object.entries(fields)) {
      if (Object.hasOwn(raw, name)) continue;
      if (field.example !== null) noteMissing(site, name, field.example);
      set(value, name, field.fill({ path: [...path, name], found }));
    }
    if (found.length === before) also?.(value as FilledTable<F>, site);
    return value as FilledTable<F>;
  };
}

function set(value: Record<string, unknown>, name: string, content: unknown): void {
  if (content !== undefined) value[name] = content;
}

function noteMissing({ path, found }: ValueSite, name: string, example: string): void {
  const hint = example === '' ? null : `for example ${example}`;
  const misfit = misfitAt(path, { is: `it has no ${name}`, expected: `the key ${name}`, hint });
  found.push({ ...misfit, path: [...path, name] });
}

function noteUnknown(
  { path, found }: ValueSite,
  names: readonly string[],
  others: TableRule<TableFields>['others'],
): void {
  if (others === 'ignored' || found.length >= MAX_FOUND) return;
  const { expected = `one of ${names.join(', ')}`, keys = [] } = others ?? {};
  const hint = () => didYouMean(nearestKey(String(path.at(-1)), names, keys));
  found.push({
    subject: `the key ${quote(formatPath(path))}`,
    is: 'it is unknown',
    expected,
    path,
    at: 'key',
    hint,
  });
}

/** A key of the same table with a similar spelling, prefix or suffix; or one of another table with this spelling. */
function nearestKey(name: string, siblings: readonly string[], keys: readonly string[]): string | null {
  const sibling =
    nearest(name, siblings) ??
    siblings.find((each) => each.endsWith(`_${name}`) || each.startsWith(`${name}_`));
  const isSame = (key: string) => fold(key.slice(key.lastIndexOf('.') + 1).replace('[]', '')) === fold(name);
  return sibling ?? keys.find(isSame)?.replace(/\[\]$/, '') ?? null;
}

type TablesRule = { readonly min?: number; readonly max: number; readonly header: string };

/** Tables of one shape in a list: `[[header]]` in TOML. */
export function tables<T>(each: Shape<T>, { min = 0, max, header }: TablesRule): Shape<readonly T[]> {
  return (raw, site) => {
    const { path, found } = site;
    if (!Array.isArray(raw)) {
      const hint = isTable(raw) ? `write it with two brackets: ${header}` : null;
      return note(site, { is: describeValue(raw), expected: `tables under ${header}`, hint });
    }
    if (raw.length < min) note(site, { is: 'it is empty', expected: `at least ${min} ${header}` });
    if (raw.length > max) {
      const inner = { path: [...path, max], found };
      note(inner, { is: `there are ${raw.length}`, expected: `at most ${max} of ${header}` });
    }
    const kept = raw.slice(0, max);
    return kept.map((content: unknown, i) => each(content, { path: [...path, i], found }) ?? ({} as T));
  };
}

/** Notes each value of a key that an earlier table of the list already has. */
export function noteRepeated(list: readonly RawTable[], name: string, { path, found }: ValueSite): void {
  const seen = new Set<unknown>();
  for (const [i, each] of list.entries()) {
    const value = each[name];
    if (typeof value !== 'string') continue;
    if (seen.has(value)) {
      const inner = { path: [...path, i, name], found };
      note(inner, { is: `${quote(value)} is used twice`, expected: `each ${name} once` });
    }
    seen.add(value);
  }
}
