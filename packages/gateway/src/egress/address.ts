import { isIPv6 } from 'node:net';

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
