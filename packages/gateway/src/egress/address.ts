import { isIPv6 } from 'node:net';
import { quote } from '../core/hostile-text.ts';
import { once } from '../core/once.ts';
import { accept, type Result, sentenceOf, unfit } from '../core/result.ts';
import { CARRIERS, ISATAP_MARKS, SPECIAL_RANGES } from './address-ranges.table.ts';

/** An IP address as the number it is. Two are the same address exactly if both fields are equal. */
export type Address = { readonly family: 4 | 6; readonly value: bigint };

/** The high 96 bits of an IPv4 address that is written as IPv6 (`::ffff:0:0/96`). */
const MAPPED = 0xffffn;

/**
 * The address that a text means to any common client: IPv4 in its decimal, octal, hexadecimal and short spellings and
 * with one trailing dot, IPv6 with or without brackets. An IPv4-mapped IPv6 address is the IPv4 address, since that is
 * where a connection goes. Null for everything else.
 */
export function parseAddress(text: string): Address | null {
  if (text.includes(':')) {
    // Boundary: a zone names an interface of this machine, so a caller may not give an address with one.
    const value = parseIPv6(text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text);
    return value === null ? null : fromBits(value);
  }
  const value = parseIPv4(text.endsWith('.') ? text.slice(0, -1) : text);
  return value === null ? null : { family: 4, value };
}

function fromBits(value: bigint): Address {
  return value >> 32n === MAPPED ? { family: 4, value: value & 0xffff_ffffn } : { family: 6, value };
}

/** The one spelling of an address in records and messages; it can be dialled as it is. */
export function formatAddress({ family, value }: Address): string {
  return family === 4 ? formatIPv4(value) : formatIPv6(value);
}

export function isSameAddress(a: Address, b: Address): boolean {
  return a.value === b.value && a.family === b.family;
}

/*
 * Reads an IPv4 address as the resolvers of C and the URL parsers of browsers do: one to four parts, each decimal, octal
 * with a leading 0 or hexadecimal with 0x, the last part filling all bytes that are left. A spelling that some client
 * takes for an address must not pass here as a name.
 */

/** Hexadecimal, octal and decimal, each after its zeros; more digits than these cannot fit in 32 bits. */
const PART = /^(?:0[xX]0*([0-9A-Fa-f]{0,8})|0+([0-7]{0,11})|([1-9][0-9]{0,9}))$/;

/** The 32 bits that a spelling means; null when it means no address. */
function parseIPv4(text: string): bigint | null {
  const parts = text.split('.');
  if (parts.length > 4) return null;
  const values = parts.map(readPart);
  const last = values.pop() ?? null;
  // Boundary: a part that is too large is refused, because clients differ on what is left of it.
  if (last === null || last >= 256 ** (4 - values.length)) return null;
  let address = 0;
  for (const value of values) {
    if (value === null || value > 255) return null;
    address = address * 256 + value;
  }
  return BigInt(address * 256 ** (4 - values.length) + last);
}

function readPart(part: string): number | null {
  const [whole, hexadecimal, octal, decimal] = PART.exec(part) ?? [];
  if (whole === undefined) return null;
  if (hexadecimal !== undefined) return Number.parseInt(`0${hexadecimal}`, 16);
  return octal === undefined ? Number(decimal) : Number.parseInt(`0${octal}`, 8);
}

function formatIPv4(value: bigint): string {
  const bits = Number(value);
  return [bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255].join('.');
}

const GROUPS = 8;

/** The 128 bits of an IPv6 address; null for anything else, a zone (`%eth0`) included. */
function parseIPv6(text: string): bigint | null {
  if (!isIPv6(text) || text.includes('%')) return null;
  const [before = [], after = []] = canonical(text)
    .split('::')
    .map((side) => side.split(':').filter((group) => group !== ''));
  const gap = Array.from({ length: GROUPS - before.length - after.length }, () => '0');
  return BigInt(`0x${[...before, ...gap, ...after].map((group) => group.padStart(4, '0')).join('')}`);
}

function formatIPv6(value: bigint): string {
  const digits = value.toString(16).padStart(32, '0');
  return canonical(digits.match(/.{4}/g)?.join(':') ?? '');
}

/** The form of RFC 5952: lower case, no leading zeros, no IPv4 part, the first longest run of zero groups left out. */
function canonical(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** All addresses with the same first bits. */
export type AddressRange = {
  readonly family: 4 | 6;
  readonly bits: number;
  readonly first: bigint;
  readonly last: bigint;
};

const PREFIX_BITS = /^(?:0|[1-9][0-9]{0,2})$/;

export function widthOf(family: 4 | 6): 32 | 128 {
  return family === 4 ? 32 : 128;
}

export function rangeOf({ family, value }: Address): AddressRange {
  return { family, bits: widthOf(family), first: value, last: value };
}

/** Reads an address and the length of its prefix. An address with bits after the prefix is refused as a mistake. */
export function parseRange(rawAddress: string, rawBits: string): Result<AddressRange> {
  const subject = `range ${quote(`${rawAddress}/${rawBits}`)}`;
  const address = parseAddress(rawAddress);
  if (address === null)
    return unfit(subject, `${quote(rawAddress)} is not a valid address`, 'one such as "10.1.2.0/24"');
  // A mapped range is the range of the IPv4 addresses in it.
  const surplus = address.family === 4 && rawAddress.includes(':') ? 96 : 0;
  const bits = PREFIX_BITS.test(rawBits) ? Number(rawBits) - surplus : Number.NaN;
  const width = widthOf(address.family);
  if (!(bits >= 0 && bits <= width))
    return unfit(
      subject,
      `the prefix is ${quote(rawBits)}`,
      `a number from ${surplus} to ${width + surplus}`,
    );
  const size = 1n << BigInt(width - bits);
  const first = address.value - (address.value % size);
  if (first !== address.value) {
    const meant = formatAddress({ family: address.family, value: first });
    return unfit(subject, 'it has bits set after its prefix', quote(`${meant}/${bits}`));
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

/** Why an address is not simply a public one. */
export type Special = {
  readonly name: string;
  /** Follows "it is" in a message. */
  readonly sentence: string;
  /** An entry names the address when its own range is inside this one; a wider entry was not written for it. */
  readonly range: AddressRange;
};

type Carrier = (typeof CARRIERS)[number];

const LOW_32 = 0xffff_ffffn;
/** Every row precedes the wider ones that contain it, so the first match is the narrowest. Read when one is asked for. */
const rows = once(
  (): RangeTree<Special> =>
    plantRanges(
      SPECIAL_RANGES.map(([text, name, sentence]) => {
        const range = readRange(text);
        return [range, { name, sentence, range }];
      }),
    ),
);
const forms = once(
  (): RangeTree<readonly Carrier[]> =>
    plantRanges(
      Array.from(new Set(CARRIERS.map(({ range }) => range)), (text) => [
        readRange(text),
        CARRIERS.filter(({ range }) => range === text),
      ]),
    ),
);

/** What is special about an address, by the table, by what it carries, or because it is the machine's own; else null. */
export function specialRange(address: Address, own: readonly Address[]): Special | null {
  if (own.some((each) => isSameAddress(each, address))) {
    return { name: 'own', sentence: 'an address of the machine itself', range: rangeOf(address) };
  }
  const row = ringAround(rows(), address)?.item ?? null;
  // A row for this address alone says more than what its bits would mean in another form.
  if (address.family === 4 || (row !== null && row.range.first === row.range.last)) return row;
  // Boundary: a tunnel or a translator would take the traffic to the address inside.
  for (const inner of carriedBy(address)) {
    const special = specialRange(inner, own);
    if (special !== null) return { ...special, range: rangeOf(address) };
  }
  return isJudgedByContents(address) ? null : row;
}

/** The IPv4 addresses that traffic to an IPv6 address can end at. */
export function carriedBy(address: Address): readonly Address[] {
  if (address.family === 4) return [];
  const { value } = address;
  const carried = formsOf(address).map((form) => pick(value, form));
  if (ISATAP_MARKS.includes((value >> 32n) & LOW_32)) carried.push(value & LOW_32);
  return carried.map((bits) => ({ family: 4, value: bits }));
}

function pick(value: bigint, { pieces, flipped }: Carrier): bigint {
  let bits = 0n;
  for (const [start, length] of pieces) {
    bits = (bits << BigInt(length)) | BigInt.asUintN(length, value >> BigInt(128 - start - length));
  }
  return flipped ? bits ^ LOW_32 : bits;
}

function isJudgedByContents(address: Address): boolean {
  return formsOf(address).some(({ judgedByContents }) => judgedByContents);
}

function formsOf(address: Address): readonly Carrier[] {
  const found: Carrier[] = [];
  for (let ring = ringAround(forms(), address); ring !== null; ring = ring.outer) found.push(...ring.item);
  return found;
}

function readRange(text: string): AddressRange {
  const [address = '', bits = ''] = text.split('/');
  const range = parseRange(address, bits);
  if (!range.ok) throw new TypeError(sentenceOf(range.problem));
  return range.value;
}
