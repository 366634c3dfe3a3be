import { formatIPv4, parseIPv4 } from './ipv4-text.ts';
import { formatIPv6, parseIPv6 } from './ipv6-text.ts';

/** An IP address as the number it is. Two are the same address exactly if both fields are equal. */
export type Address = { readonly family: 4 | 6; readonly value: bigint };

/** The high 96 bits of an IPv4 address that is written as IPv6 (`::ffff:0:0/96`). */
const MAPPED = 0xffffn;

/**
 * The address that a text means to any common client: IPv4 in its decimal, octal, hexadecimal and short spellings and
 * with one dot behind it, IPv6 with or without brackets. An IPv4-mapped IPv6 address is the IPv4 address, since that is
 * where a connection goes. Null for everything else.
 */
export function parseAddress(text: string): Address | null {
  if (text.includes(':')) {
    // Boundary: a zone names an interface of this machine, so an address with one is none that a caller may give.
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
