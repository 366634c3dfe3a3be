import { mismatch } from './codec.ts';

/** How the cases of a variant are represented in JavaScript. */
export type VariantForm = {
  readonly make: (index: number, payload: unknown) => unknown;
  /** The case of a value; a value that matches no case is refused. */
  readonly indexOf: (value: unknown) => number;
  readonly payloadOf: (value: unknown) => unknown;
};

/** A value of a variant or a result. Without a payload its `value` is null. */
export type Tagged = { readonly tag: string; readonly value: unknown };

/** `{ tag, value }`: variants and results. */
export function taggedForm(names: readonly string[]): VariantForm {
  const indices = indicesOf(names);
  return {
    make: (index, value): Tagged => ({ tag: names[index] ?? '', value }),
    indexOf: (value) => requireIndex(indices, isTagged(value) ? value.tag : undefined),
    payloadOf: (value) => (isTagged(value) ? value.value : undefined),
  };
}

/** The name itself: enums. */
export function enumForm(names: readonly string[]): VariantForm {
  const indices = indicesOf(names);
  return {
    make: (index) => names[index],
    indexOf: (value) => requireIndex(indices, value),
    payloadOf: () => undefined,
  };
}

/** The value, or null: options. */
export const OPTIONAL: VariantForm = {
  make: (_index, payload) => payload,
  indexOf: (value) => (value === null || value === undefined ? 0 : 1),
  payloadOf: (value) => value,
};

type Indices = ReadonlyMap<unknown, number>;

function indicesOf(names: readonly string[]): Indices {
  return new Map(names.map((name, index) => [name, index]));
}

function requireIndex(indices: Indices, name: unknown): number {
  const index = indices.get(name);
  if (index === undefined) throw mismatch(`one of ${[...indices.keys()].join(', ')}`, name);
  return index;
}

function isTagged(value: unknown): value is Tagged {
  return typeof value === 'object' && value !== null && 'tag' in value;
}
