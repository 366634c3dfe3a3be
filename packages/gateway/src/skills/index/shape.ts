/* Checks whether a stored value has the shape of its type. For stored data, not for what people write. */

export type Shape<T> = (value: unknown) => value is T;

export const isText: Shape<string> = (value) => typeof value === 'string';
export const isFlag: Shape<boolean> = (value) => typeof value === 'boolean';
export const isWhole: Shape<number> = (value): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** Any object that is not an array. */
export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** One of exactly these values. */
export function oneOf<const T extends string | number>(...values: readonly T[]): Shape<T> {
  return (value): value is T => values.includes(value as T);
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value): value is T | null => value === null || shape(value);
}

export function listOf<T>(shape: Shape<T>): Shape<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(shape);
}

/** Any keys, and values of one shape. */
export function recordOf<T>(shape: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> =>
    isObject(value) && Object.values(value).every(shape);
}

type Fields<T> = { readonly [K in keyof T]-?: Shape<Exclude<T[K], undefined>> };

/** These keys and no others; each is required unless listed as optional. */
export function objectOf<T extends object>(fields: Fields<T>, optional: readonly (keyof T)[] = []): Shape<T> {
  const shapes = new Map<string, Shape<unknown>>(Object.entries(fields));
  const needed = [...shapes.keys()].filter((key) => !optional.includes(key as keyof T));
  return (value): value is T =>
    isObject(value) &&
    needed.every((key) => Object.hasOwn(value, key)) &&
    Object.entries(value).every(([key, part]) => shapes.get(key)?.(part) === true);
}
