/*
 * Reads an IPv4 address as the resolvers of C and the URL parsers of browsers do: one to four parts, each decimal, octal
 * with a leading 0 or hexadecimal with 0x, the last part filling all bytes that are left. A spelling that some client
 * takes for an address must not pass here as a name.
 */

/** Hexadecimal, octal and decimal, each after its zeros; more digits than these cannot fit in 32 bits. */
const PART = /^(?:0[xX]0*([0-9A-Fa-f]{0,8})|0+([0-7]{0,11})|([1-9][0-9]{0,9}))$/;
const PLAIN = /^(?:0|[1-9][0-9]{0,2})$/;

/** The 32 bits that a spelling means; null when it means no address. */
export function parseIPv4(text: string): bigint | null {
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

/** Reads four decimal parts without leading zeros, which is all that may stand in an IPv6 address. */
export function parsePlainIPv4(text: string): bigint | null {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => PLAIN.test(part)) ? parseIPv4(text) : null;
}

/** The dotted decimal form. */
export function formatIPv4(value: bigint): string {
  const bits = Number(value);
  return [bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255].join('.');
}
