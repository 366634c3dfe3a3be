/**
 * Shapes are tables of small checks: every field named is required, every field not named is refused. There is no
 * coercion and no default, and a value is never copied, so that a hostile key such as "__proto__" is only ever compared.
 */

import { quote } from './report.ts';

export type Mismatch = { readonly path: string; readonly is: string; readonly expected: string };

/** Null when the value has the shape. */
export type Shape = (value: unknown) => Mismatch | null;

/** The sentence for a mismatch: where, what is, what should be. */
export function describeMismatch({ path, is, expected }: Mismatch): string {
  return `${path === '' ? 'the document' : `field "${path}"`} is ${is}, expected ${expected}`;
}

export function leaf(expected: string, fits: (value: unknown) => boolean): Shape {
  return (value) => (fits(value) ? null : { path: '', is: quote(value), expected });
}

export function matching(pattern: RegExp, expected: string): Shape {
  return leaf(expected, (value) => typeof value === 'string' && pattern.test(value));
}

export function constant(wanted: string | number): Shape {
  return leaf(quote(wanted), (value) => value === wanted);
}

export function oneOf(wanted: readonly string[], expected = `one of ${wanted.map(quote).join(', ')}`): Shape {
  const set: ReadonlySet<unknown> = new Set(wanted);
  return leaf(expected, (value) => set.has(value));
}

export function nullable(shape: Shape): Shape {
  return (value) => (value === null ? null : shape(value));
}

export function listOf(item: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return { path: '', is: quote(value), expected: 'a list' };
    return firstMismatch(value, () => item);
  };
}

/** A list whose items have the given shapes in that order; the last ones may be absent. */
export function tuple(items: readonly Shape[], least: number): Shape {
  return (value) => {
    if (!Array.isArray(value)) return { path: '', is: quote(value), expected: 'a list' };
    if (value.length < least || value.length > items.length) {
      const expected = least === items.length ? `${least}` : `${least} to ${items.length}`;
      return { path: '', is: `a list of ${value.length}`, expected: `a list of ${expected}` };
    }
    return firstMismatch(value, (index) => items[index]);
  };
}

/** An object with exactly these fields. */
export function objectOf(shapes: Readonly<Record<string, Shape>>): Shape {
  const entries = Object.entries(shapes);
  return (value) => {
    if (!isObject(value)) return { path: '', is: quote(value), expected: 'an object' };
    for (const [key, shape] of entries) {
      if (!Object.hasOwn(value, key)) return { path: key, is: 'missing', expected: 'a value' };
      const mismatch = shape(value[key]);
      if (mismatch !== null) return within(key, mismatch);
    }
    // Boundary: what the table does not name does not belong to a signed document.
    const keys = Object.keys(value);
    if (keys.length === entries.length) return null;
    const extra = keys.find((key) => !Object.hasOwn(shapes, key)) ?? '';
    return { path: extra, is: 'present', expected: 'no such field' };
  };
}

/** An object with any keys whose values all have the shape. */
export function mapOf(shape: Shape): Shape {
  return (value) => {
    if (!isObject(value)) return { path: '', is: quote(value), expected: 'an object' };
    for (const key of Object.keys(value)) {
      const mismatch = shape(value[key]);
      if (mismatch !== null) return within(key, mismatch);
    }
    return null;
  };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function firstMismatch(
  items: readonly unknown[],
  shapeAt: (index: number) => Shape | undefined,
): Mismatch | null {
  for (const [index, item] of items.entries()) {
    const mismatch = shapeAt(index)?.(item) ?? null;
    if (mismatch !== null) return within(`${index}`, mismatch);
  }
  return null;
}

function within(key: string, mismatch: Mismatch): Mismatch {
  return { ...mismatch, path: mismatch.path === '' ? key : `${key}.${mismatch.path}` };
}

export const text: Shape = leaf('a string', (value) => typeof value === 'string');
export const name: Shape = leaf('a non-empty string', (value) => typeof value === 'string' && value !== '');
export const flag: Shape = leaf('true or false', (value) => typeof value === 'boolean');
export const anyObject: Shape = leaf('an object', isObject);
export const hash: Shape = matching(/^[0-9a-f]{64}$/, 'a SHA-256 digest in 64 lower-case hexadecimal digits');
export const count: Shape = leaf(
  'a non-negative safe integer',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
export const amount: Shape = leaf(
  'a non-negative number',
  (value) => typeof value === 'number' && value >= 0,
);
export const positiveInteger: Shape = leaf(
  'a safe integer of at least 1',
  (value) => Number.isSafeInteger(value) && Number(value) >= 1,
);

/** One spelling of an instant, so that times compare as text. */
export const instant: Shape = matching(
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/,
  'an instant such as "2026-01-31T12:00:00.000Z"',
);
