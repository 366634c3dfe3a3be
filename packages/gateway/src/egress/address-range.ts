import { quote } from '../core/hostile-text.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { type Address, formatAddress, parseAddress } from './address.ts';

/** All addresses with the same first bits. */
export type AddressRange = {
  readonly family: 4 | 6;
  readonly bits: number;
  readonly first: bigint;
  readonly last: bigint;
};

const PREFIX_BITS = /^(?:0|[1-9][0-9]{0,2})$/;

/** How many bits an address of the family has. */
export function widthOf(family: 4 | 6): 32 | 128 {
  return family === 4 ? 32 : 128;
}

/** The range that is one address. */
export function rangeOf({ family, value }: Address): AddressRange {
  return { family, bits: widthOf(family), first: value, last: value };
}

/** Reads an address and the length of its prefix. An address with bits after the prefix is refused as a mistake. */
export function parseRange(rawAddress: string, rawBits: string): Result<AddressRange> {
  const subject = `range ${quote(`${rawAddress}/${rawBits}`)}`;
  const address = parseAddress(rawAddress);
  if (address === null)
    return reject({
      subject,
      is: `${quote(rawAddress)} is not a valid address`,
      expected: 'one such as "10.1.2.0/24"',
    });
  // A mapped range is the range of the IPv4 addresses in it.
  const surplus = address.family === 4 && rawAddress.includes(':') ? 96 : 0;
  const bits = PREFIX_BITS.test(rawBits) ? Number(rawBits) - surplus : Number.NaN;
  const width = widthOf(address.family);
  if (!(bits >= 0 && bits <= width)) {
    return reject({
      subject,
      is: `the prefix is ${quote(rawBits)}`,
      expected: `a number from ${surplus} to ${width + surplus}`,
    });
  }
  const size = 1n << BigInt(width - bits);
  const first = address.value - (address.value % size);
  if (first !== address.value) {
    const meant = formatAddress({ family: address.family, value: first });
    return reject({ subject, is: 'it has bits set after its prefix', expected: quote(`${meant}/${bits}`) });
  }
  return accept({ family: address.family, bits, first, last: first + size - 1n });
}

/** Whether every address of the inner range is in the outer one. */
export function isInside(inner: AddressRange, outer: AddressRange): boolean {
  return inner.family === outer.family && outer.first <= inner.first && inner.last <= outer.last;
}

/*
 * Finds the ranges that contain an address. Two prefix ranges are disjoint or nested, so every range has one parent,
 * and those that contain an address form a chain. The narrowest of them is the last range that begins at or before the
 * address, or contains that one: a binary search and a few steps outward.
 */

/** A range, what belongs to it, and the next wider one around it. */
type Ring<T> = { readonly range: AddressRange; readonly item: T; readonly outer: Ring<T> | null };

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
