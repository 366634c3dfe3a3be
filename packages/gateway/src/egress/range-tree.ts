import type { Address } from './address.ts';
import type { AddressRange } from './address-range.ts';

/*
 * Finds the ranges around an address. Two ranges with prefixes are apart or one is inside the other, so every range has
 * one that is next around it, and those around an address are a chain. The narrowest of them is the last range that begins
 * at or before the address, or lies around that one: a search by halves and a few steps outward, however many there are.
 */

/** A range, what belongs to it, and the next wider one around it. */
export type Ring<T> = { readonly range: AddressRange; readonly item: T; readonly outer: Ring<T> | null };

/** The rings of each family by where they begin, the wider one first. */
export type RangeTree<T> = { readonly 4: readonly Ring<T>[]; readonly 6: readonly Ring<T>[] };

/** Makes a tree of ranges of which no two are the same. */
export function plantRanges<T>(ranges: readonly (readonly [AddressRange, T])[]): RangeTree<T> {
  const tree: { readonly 4: Ring<T>[]; readonly 6: Ring<T>[] } = { 4: [], 6: [] };
  const sorted = ranges.toSorted(([a], [b]) =>
    a.first === b.first ? a.bits - b.bits : a.first < b.first ? -1 : 1,
  );
  for (const [range, item] of sorted) {
    const rings = tree[range.family];
    rings.push({ range, item, outer: lastAround(rings.at(-1) ?? null, range.first) });
  }
  return tree;
}

/** The narrowest range that has the address; `outer` leads to all others that have it. */
export function ringAround<T>(tree: RangeTree<T>, { family, value }: Address): Ring<T> | null {
  const rings = tree[family];
  let begun = 0;
  let open = rings.length;
  while (begun < open) {
    const middle = (begun + open) >>> 1;
    const ring = rings[middle];
    if (ring !== undefined && ring.range.first <= value) begun = middle + 1;
    else open = middle;
  }
  return lastAround(rings[begun - 1] ?? null, value);
}

/** The first ring, from this one outward, that does not end before the value. */
function lastAround<T>(from: Ring<T> | null, value: bigint): Ring<T> | null {
  let ring = from;
  while (ring !== null && ring.range.last < value) ring = ring.outer;
  return ring;
}
