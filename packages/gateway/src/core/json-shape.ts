import { findNodeAtLocation, parseTree } from 'jsonc-parser/lib/esm/main.js';
import { accept, type Problem, type Result, reject } from './result.ts';
import {
  check,
  type FilledTable,
  isTable,
  note,
  required,
  type Shape,
  type TableFields,
  table,
  textLike,
} from './shape.ts';
import { describeValue, locate, type Positions } from './shape-problem.ts';
import { parseStrict, type StrictLimits } from './strict-json.ts';
import { positionAt } from './text-position.ts';

/* Shapes of the JSON that programs write: what is kept in the database, and documents of other tools. */

export type Shaped<S> = S extends Shape<infer T> ? T : never;

export const anyText: Shape<string> = textLike('a text', () => true);

export const whole: Shape<number> = (raw, site) => {
  if (typeof raw === 'number' && Number.isSafeInteger(raw) && raw >= 0) return raw;
  return note(site, { is: describeValue(raw), expected: 'a whole number of at least 0' });
};

export function literal<const T extends number>(value: T): Shape<T> {
  return (raw, site) =>
    raw === value ? value : note(site, { is: describeValue(raw), expected: `the number ${value}` });
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (raw, site) => (raw === null ? null : shape(raw, site));
}

export function list<T>(each: Shape<T>): Shape<readonly T[]> {
  return (raw, { path, found }) => {
    if (!Array.isArray(raw)) return note({ path, found }, { is: describeValue(raw), expected: 'a list' });
    return raw.map((value: unknown, i) => each(value, { path: [...path, i], found }) as T);
  };
}

/** Any keys, and values of one shape. */
export function record<T>(each: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return (raw, { path, found }) => {
    if (!isTable(raw)) return note({ path, found }, { is: describeValue(raw), expected: 'a table' });
    const entries = Object.entries(raw);
    return Object.fromEntries(
      entries.map(([key, value]) => [key, each(value, { path: [...path, key], found }) as T]),
    );
  };
}

/** An object with exactly these keys. */
export function object<S extends Readonly<Record<string, Shape<unknown>>>>(
  shapes: S,
): Shape<{ readonly [K in keyof S]: Shaped<S[K]> }> {
  const fields = Object.entries(shapes).map(([key, shape]) => [key, required(shape)]);
  return table(Object.fromEntries(fields) as TableFields) as ReturnType<typeof object<S>>;
}

/** An object of a format that has more keys than these. */
export function looseObject<F extends TableFields>(fields: F): Shape<FilledTable<F>> {
  return table(fields, { others: 'ignored' });
}

/** A key whose value can be missing; it stays missing then. */
export function ifPresent<T>(shape: Shape<T>) {
  return { shape, example: null, fill: () => undefined };
}

/** Reads a document: its value, or what is wrong with it first, and where. */
export function readJson<T>(
  raw: string | Uint8Array,
  limits: StrictLimits,
  shape: Shape<T>,
): Result<T, Problem> {
  const parsed = parseStrict(raw, limits);
  if (!parsed.ok) return reject(parsed.problem);
  const checked = check(parsed.value, shape);
  if (checked.ok) return accept(checked.value);
  const text = typeof raw === 'string' ? raw : new TextDecoder().decode(raw);
  // Boundary: finding a position takes a walk over the text, and a hostile one has thousands of problems.
  const [first] = locate(checked.problem.slice(0, 1), jsonPositions(text));
  return reject(first ?? { subject: 'the file', is: 'it is empty', expected: 'a document' });
}

/** Finds keys and values in a text that `parseStrict` accepted. */
export function jsonPositions(text: string): Positions {
  const tree = parseTree(text);
  return (path, at) => {
    const value = tree && findNodeAtLocation(tree, [...path]);
    const key = value?.parent?.type === 'property' ? value.parent.children?.[0] : undefined;
    const found = at === 'key' ? (key ?? value) : value;
    return found && positionAt(text, found.offset);
  };
}
