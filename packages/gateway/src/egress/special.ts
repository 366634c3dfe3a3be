import { sentenceOf } from '../core/result.ts';
import {
  type Address,
  type AddressRange,
  isSameAddress,
  parseRange,
  plantRanges,
  type RangeTree,
  rangeOf,
  ringAround,
} from './address.ts';
import { CARRIERS, ISATAP_MARKS, SPECIAL_RANGES } from './address-ranges.table.ts';

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
/** Every row precedes the wider ones that contain it, so the first match is the narrowest. */
const ROWS: RangeTree<Special> = plantRanges(
  SPECIAL_RANGES.map(([text, name, sentence]) => {
    const range = readRange(text);
    return [range, { name, sentence, range }];
  }),
);
const FORMS: RangeTree<readonly Carrier[]> = plantRanges(
  Array.from(new Set(CARRIERS.map(({ range }) => range)), (text) => [
    readRange(text),
    CARRIERS.filter(({ range }) => range === text),
  ]),
);

/** What is special about an address, by the table, by what it carries, or because it is the machine's own; else null. */
export function specialRange(address: Address, own: readonly Address[]): Special | null {
  if (own.some((each) => isSameAddress(each, address))) {
    return { name: 'own', sentence: 'an address of the machine itself', range: rangeOf(address) };
  }
  const row = ringAround(ROWS, address)?.item ?? null;
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
  const forms: Carrier[] = [];
  for (let ring = ringAround(FORMS, address); ring !== null; ring = ring.outer) forms.push(...ring.item);
  return forms;
}

function readRange(text: string): AddressRange {
  const [address = '', bits = ''] = text.split('/');
  const range = parseRange(address, bits);
  if (!range.ok) throw new TypeError(sentenceOf(range.problem));
  return range.value;
}
