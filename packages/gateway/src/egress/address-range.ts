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

/** Reads an address and the length of its prefix. An address with bits behind the prefix is a mistake, and refused. */
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

/** Tells whether every address of the inner range is in the outer one. */
export function isInside(inner: AddressRange, outer: AddressRange): boolean {
  return inner.family === outer.family && outer.first <= inner.first && inner.last <= outer.last;
}
