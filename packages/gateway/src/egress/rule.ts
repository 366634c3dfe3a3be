import { isUtf8 } from 'node:buffer';
import { quote } from '../core/hostile-text.ts';
import { accept, type Result, unfit } from '../core/result.ts';
import { type AddressRange, formatAddress, parseRange, rangeOf } from './address.ts';
import { DEFAULT_PORTS, type HostName, parseHost, parsePort, type Scheme } from './authority.ts';
import { EGRESS_LIMITS, LEAST_PREFIX_BITS } from './limits.ts';

/*
 * One entry of an allow-list: `example.com`, `*.example.com`, `example.com:8443`, `https://example.com/v1/`, `GET,HEAD
 * https://example.com/v1/`, `10.1.2.3:8080`, `10.1.2.0/24:8080`, `[fd12::]/16`, and each with `!` in front.
 *
 * What an entry leaves out is interpreted strictly. An allowing entry without a port means 80 and 443, or the port of
 * its scheme; a denying one means every port. A path means itself and everything below it; with a trailing slash an
 * allowing one means only what is below it, and a denying one is compared without case.
 */

/** A parsed entry. Null means any. */
export type Rule = {
  /** As it was written. */
  readonly entry: string;
  readonly denies: boolean;
  readonly place: HostPattern;
  readonly ports: readonly number[] | null;
  readonly scheme: Scheme | null;
  readonly methods: readonly string[] | null;
  readonly path: string | null;
};

type Target = Pick<Rule, 'place' | 'scheme' | 'path'> & { readonly port: number | null };

const EXPECTED = '"example.com", "*.example.com:443", "GET https://example.com/v1/" or "10.1.2.0/24:8080"';
const ENTRY = /^(!)?(?:([^\s/:]+) )?(\S+)$/;
const URL_PARTS = /^([^:/]*):\/\/([^/]*)(\/.*)?$/;
const RANGE_PARTS = /^([^/]*)\/([^/:]*)(:.*)?$/;
const HOST_AND_PORT = /^(\[[^[\]]*\]|[^:[\]]*)(?::([^:]*))?$/;
/** Those that can be used through a proxy; a misspelt one would be an entry without effect. */
const METHODS: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND', 'PROPPATCH'],
  ...['REPORT', 'SEARCH', 'MKCOL', 'COPY', 'MOVE', 'LOCK', 'UNLOCK'],
]);

/** Reads one entry; the problem of a malformed one says what is wrong with it. */
export function parseRule(entry: string): Result<Rule> {
  if (entry.length > EGRESS_LIMITS.entryChars) {
    return refuseEntry(entry, `it has ${entry.length} characters`, `at most ${EGRESS_LIMITS.entryChars}`);
  }
  const [whole, bang, rawMethods, rawTarget = ''] = ENTRY.exec(entry) ?? [];
  if (whole === undefined) return refuseEntry(entry, 'it is not one target', EXPECTED);
  const denies = bang !== undefined;
  const methods = rawMethods?.split(',') ?? null;
  const unknown = methods?.find((method) => !METHODS.has(method));
  if (unknown !== undefined)
    return refuseEntry(entry, `${quote(unknown)} is not a known method`, '"GET,HEAD …"');
  const target = parseTarget(rawTarget);
  if (!target.ok) return target;
  const tooWide = denies ? null : widthProblem(target.value.place);
  if (tooWide !== null) return refuseEntry(entry, tooWide, 'the hosts that are meant');
  const { place, scheme, port, path } = target.value;
  return accept({
    entry,
    denies,
    place,
    ports: port === null ? unnamedPorts(denies, scheme) : [port],
    scheme,
    methods,
    path: path !== null && denies ? widenPath(path) : path,
  });
}

function unnamedPorts(denies: boolean, scheme: Scheme | null): readonly number[] | null {
  if (denies) return null;
  return scheme === null ? Object.values(DEFAULT_PORTS) : [DEFAULT_PORTS[scheme]];
}

function parseTarget(raw: string): Result<Target> {
  const [url, rawScheme = '', rawAuthority = '', rawPath = '/'] = URL_PARTS.exec(raw) ?? [];
  if (url === undefined) {
    const [range, rawHost = '', rawBits = '', rest = ''] = RANGE_PARTS.exec(raw) ?? [];
    return parseHostAndPort(range === undefined ? raw : rawHost + rest, range === undefined ? null : rawBits);
  }
  const scheme = rawScheme.toLowerCase();
  if (scheme !== 'http' && scheme !== 'https') {
    return refuseEntry(raw, `the scheme is ${quote(rawScheme)}`, '"http" or "https"');
  }
  const target = parseHostAndPort(rawAuthority, null);
  if (!target.ok) return target;
  const path = rawPath.includes('?') ? null : normalizePath(rawPath);
  if (path === null)
    return refuseEntry(raw, 'its path is not plain', 'one without "?", "#", "..", "%2e" or "%2f"');
  if (target.value.place.kind === 'range' && /^\/\d/.test(path)) {
    return refuseEntry(raw, 'it looks like a range with a scheme', 'one such as "10.1.2.0/24:443"');
  }
  return accept({ ...target.value, scheme, path: path === '/' ? null : path });
}

function parseHostAndPort(raw: string, rawBits: string | null): Result<Target> {
  const [whole, rawHost = '', rawPort] = HOST_AND_PORT.exec(raw) ?? [];
  if (whole === undefined) {
    return refuseEntry(raw, 'it has more than one ":"', '"host:port", with an IPv6 address in brackets');
  }
  const place = parseHostPattern(rawHost, rawBits);
  if (!place.ok) return place;
  const port = rawPort === undefined ? accept(null) : parsePort(rawPort);
  return port.ok ? accept({ place: place.value, scheme: null, port: port.value, path: null }) : port;
}

function refuseEntry(entry: string, is: string, expected: string) {
  return unfit(`entry ${quote(entry)}`, is, expected);
}

/** Which hosts an entry means. `below` means the subdomains of its name, without the name itself. */
export type HostPattern =
  | { readonly kind: 'name'; readonly name: HostName }
  | { readonly kind: 'below'; readonly name: HostName }
  | { readonly kind: 'range'; readonly range: AddressRange };

/** Reads the host of an entry: a name, a wildcard, an address in its plain spelling, or a range. */
export function parseHostPattern(rawHost: string, rawBits: string | null): Result<HostPattern> {
  if (rawBits !== null) return parseRangePattern(rawHost, rawBits);
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

function parseRangePattern(rawHost: string, rawBits: string): Result<HostPattern> {
  // Boundary: as for an address, only the plain spelling; a leading zero would make a part octal.
  if (!/^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+\])$/.test(rawHost) || /(?:^|\.)0\d/.test(rawHost)) {
    const expected = '"10.1.2.0/24" or "https://…"';
    return refuseHost(`${rawHost}/${rawBits}`, 'it is neither a range nor a URL', expected);
  }
  const range = parseRange(rawHost, rawBits);
  return range.ok ? accept({ kind: 'range', range: range.value }) : range;
}

/** What makes a place too wide to be allowed as a whole; null when nothing does. */
function widthProblem(place: HostPattern): string | null {
  // Boundary: an entry for nearly every host is a mistake, however it is spelled.
  if (place.kind === 'below' && !place.name.includes('.')) return 'it means every name of a top-level domain';
  if (place.kind !== 'range') return null;
  const { family, bits } = place.range;
  const least = LEAST_PREFIX_BITS[family];
  return bits < least ? `its prefix has ${bits} bits, which is less than ${least}` : null;
}

function refuseHost(raw: string, is: string, expected: string) {
  return unfit(`host ${quote(raw)}`, is, expected);
}

/*
 * The path of a request in the one form in which paths are compared. Servers differ on what a path means: whether `%2f`
 * is a slash, whether `..;` goes up. A path on which they could differ has no form, and is treated as unknown.
 */

/** Printable ASCII without the backslash and the hash. */
const PATH = /^\/[!"$-[\]-~]*$/;
/** In its one form already, as nearly all are: no segment is empty or begins with a dot, and only what must be is encoded. */
const PLAIN =
  /^(?:\/(?![./])[!"$&-.0-[\]-~]*(?:%(?:2[0-46-9A-C]|3[A-F]|[46]0|5[BDE]|7[BCD]|[89A-F][0-9A-F])[!"$&-.0-[\]-~]*)*)+$/;
/** A dot, a slash, a backslash or a control character that is encoded, once or more often. */
const HIDDEN = /%(?:25)*(?:2[ef]|5c|[01][0-9a-f]|7f)/i;
const BROKEN = /%(?![0-9A-Fa-f]{2})/;
const CLIMBING = /\/\.{1,2}(?:(?:;|%3B)[^/]*)?(?=\/|$)/;
const PARAMETERS = /(?:;|%3B)[^/]*/gi;
const ENCODED_TEXT = /%[89A-Fa-f]/;
/** Slashes and backslashes of other scripts, which best-fit conversions turn into the plain ones. */
const LOOKS_LIKE_PATH = /[\u2044\u2215\u2216\u29f5\u29f8\u29f9]/;

/** The path without its query, without needless encoding and empty segments; null when it is ambiguous. */
export function normalizePath(raw: string): string | null {
  const query = raw.indexOf('?');
  const path = query < 0 ? raw : raw.slice(0, query);
  // Boundary: a prefix means nothing for a path that a server could take for one outside it.
  if (path.length > EGRESS_LIMITS.pathChars) return null;
  // To a server that resolves it like a reference, `//a/b` is the path /b of the host a.
  if (path.startsWith('//')) return null;
  const isPlain = PLAIN.test(path);
  if (!isPlain && (!PATH.test(path) || HIDDEN.test(path) || BROKEN.test(path))) return null;
  if (ENCODED_TEXT.test(path) && !isOneText(path)) return null;
  if (isPlain) return path;
  const plain = path.replace(/%[0-9A-Fa-f]{2}/g, decodeUnreserved).replace(/\/{2,}/g, '/');
  return CLIMBING.test(plain) ? null : plain;
}

/**
 * Whether the encoded bytes are UTF-8 of which no character means a dot or a separator to a lenient server. `%c0%ae` is
 * a dot to decoders that accept overlong forms, and a full-width slash becomes a slash where text is normalized.
 */
function isOneText(path: string): boolean {
  const bytes = path.replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  const text = Buffer.from(bytes, 'latin1');
  if (!isUtf8(text)) return false;
  const outsideAscii = text.toString().replace(/[\0-\x7f]+/g, '');
  return !LOOKS_LIKE_PATH.test(outsideAscii) && !/[\0-\x2f:-@[-`{-\x7f]/.test(outsideAscii.normalize('NFKC'));
}

function decodeUnreserved(encoded: string): string {
  const char = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[A-Za-z0-9_~-]/.test(char) ? char : encoded.toUpperCase();
}

/** Whether a normalized path is the prefix or below it; a prefix ends where a segment ends. */
export function isBeneath(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  return path.length === prefix.length || prefix.endsWith('/') || path[prefix.length] === '/';
}

/** A normalized path as a denial compares it: as the most lenient server would read it. */
export function widenPath(path: string): string {
  const bare = path.replace(PARAMETERS, '').replace(/\/{2,}/g, '/');
  return bare.replace(/(?!^)\/$/, '').toLowerCase();
}
