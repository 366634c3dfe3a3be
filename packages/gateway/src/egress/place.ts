import { quote } from '../core/hostile-text.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { formatAddress } from './address.ts';
import { type AddressRange, parseRange, rangeOf } from './address-range.ts';
import { type HostName, parseHost } from './authority.ts';
import { LEAST_PREFIX_BITS } from './limits.ts';

/** Which hosts an entry means. `below` means the names beneath the one it has, and not that one. */
export type Place =
  | { readonly kind: 'name'; readonly name: HostName }
  | { readonly kind: 'below'; readonly name: HostName }
  | { readonly kind: 'range'; readonly range: AddressRange };

/** Reads the host of an entry: a name, a wildcard, an address in its plain spelling, or a range. */
export function parsePlace(rawHost: string, rawBits: string | null): Result<Place> {
  if (rawBits !== null) return parseRangePlace(rawHost, rawBits);
  if (rawHost === '*') return refuseHost(rawHost, 'it would mean every host', 'those that are meant');
  const isBelow = rawHost.startsWith('*.');
  const text = isBelow ? rawHost.slice(2) : rawHost;
  if (text.includes('*'))
    return refuseHost(rawHost, 'a "*" stands inside it', 'one in front, as in "*.example.com"');
  const host = parseHost(text);
  if (!host.ok) return host;
  if (host.value.kind === 'name') return accept({ kind: isBelow ? 'below' : 'name', name: host.value.name });
  const { address } = host.value;
  if (isBelow) return refuseHost(rawHost, 'nothing is below an address', 'a range such as "10.1.2.0/24"');
  const plain = formatAddress(address);
  // Boundary: 010.0.0.1 is 8.0.0.1 to most programs and 10.0.0.1 to its reader; a list must not have it.
  if (!rawHost.includes(':') && rawHost !== plain)
    return refuseHost(rawHost, 'it is not plain', quote(plain));
  return accept({ kind: 'range', range: rangeOf(address) });
}

function parseRangePlace(rawHost: string, rawBits: string): Result<Place> {
  // Boundary: as for an address, only the plain spelling; a leading zero would make a part octal.
  if (!/^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+\])$/.test(rawHost) || /(?:^|\.)0\d/.test(rawHost)) {
    return refuseHost(
      `${rawHost}/${rawBits}`,
      'it is neither a range nor a URL',
      '"10.1.2.0/24" or "https://…"',
    );
  }
  const range = parseRange(rawHost, rawBits);
  return range.ok ? accept({ kind: 'range', range: range.value }) : range;
}

/** What makes a place too wide to be allowed as a whole; null when nothing does. */
export function widthProblem(place: Place): string | null {
  // Boundary: what means nearly every host is a mistake, in whatever spelling.
  if (place.kind === 'below' && !place.name.includes('.')) return 'it means every name of a top-level domain';
  if (place.kind !== 'range') return null;
  const { family, bits } = place.range;
  const least = LEAST_PREFIX_BITS[family];
  return bits < least ? `its prefix has ${bits} bits, which is less than ${least}` : null;
}

function refuseHost(raw: string, is: string, expected: string) {
  return reject({ subject: `host ${quote(raw)}`, is, expected });
}
