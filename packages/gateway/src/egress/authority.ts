import { domainToASCII, domainToUnicode } from 'node:url';
import { quote } from '../core/hostile-text.ts';
import { accept, type Result, unfit } from '../core/result.ts';
import { type Address, formatAddress, parseAddress } from './address.ts';
import { EGRESS_LIMITS } from './limits.ts';

/*
 * Reads a host, and a host with a port, as a proxy or an allow-list gets them. Anything that two programs could read
 * differently is refused: user names, percent-encoding, backslashes, white space, empty labels. A host that any client
 * would take for an address is that address, so no spelling of an address is ever looked up as a name. Labels may have
 * underscores, as service names and storage buckets do, since all resolvers accept them; a hyphen may only be inside.
 */

/** A name in lower-case ASCII without a dot at its end, made only here. */
export type HostName = string & { readonly hostName: unique symbol };

export type Host =
  | { readonly kind: 'name'; readonly name: HostName }
  | { readonly kind: 'address'; readonly address: Address };

export type Authority = { readonly host: Host; readonly port: number | null };

const EXPECTED = 'a name such as "example.com" or an address';
const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\0/, 'a NUL'],
  [/[\r\n]/, 'a line break'],
  [/\s/, 'white space'],
  [/\p{Cc}/u, 'a control character'],
  [/@/, 'a user name'],
  [/%/, 'percent-encoding'],
  [/\\/, 'a backslash'],
  [/#/, 'a fragment'],
  [/\?/, 'a query'],
  [/\//, 'a path'],
  [/\p{Cf}/u, 'an invisible character'],
];
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;
/** A last label that makes all common parsers take the host for an IPv4 address. */
const NUMBER = /^(?:[0-9]+|0x[0-9a-f]*)$/;
const PORT = /^[1-9][0-9]{0,4}$/;

/** Reads a host without a port; an IPv6 address may be in brackets. */
export function parseHost(raw: string): Result<Host> {
  const problem = problemIn(raw);
  if (problem !== null) return rejectHost(raw, problem);
  if (/[:[\]]/.test(raw)) {
    const address = parseAddress(raw);
    if (address !== null) return accept({ kind: 'address', address });
    return rejectHost(raw, 'it is not a valid IPv6 address', 'one such as "[2001:db8::1]"');
  }
  const ascii = toAscii(raw);
  if (ascii === null) return rejectHost(raw, 'it has no ASCII form');
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  const wrong = problemInName(name);
  if (wrong !== null) return rejectHost(raw, wrong);
  // Boundary: resolvers take 127.1, 0x7f.1 and 2130706433 for addresses, and so does this.
  if (!NUMBER.test(name.slice(name.lastIndexOf('.') + 1))) {
    return accept({ kind: 'name', name: name as HostName });
  }
  const address = parseAddress(name);
  if (address !== null) return accept({ kind: 'address', address });
  return rejectHost(raw, 'it ends in a number but is not a valid address', 'one such as "192.0.2.1"');
}

/** Reads `host` or `host:port`; an IPv6 address is in brackets. */
export function parseAuthority(raw: string): Result<Authority> {
  const problem = problemIn(raw);
  const subject = `address ${quote(raw)}`;
  if (problem !== null) return unfit(subject, problem, '"host:port"');
  const [whole, rawHost = '', rawPort] = /^(\[[^[\]]*\]|[^:[\]]*)(?::([^:]*))?$/.exec(raw) ?? [];
  if (whole === undefined)
    return unfit(subject, 'it has more than one ":"', '"host:port" or "[IPv6 address]:port"');
  const port = rawPort === undefined ? null : parsePort(rawPort);
  if (port !== null && !port.ok) return port;
  const host = parseHost(rawHost);
  return host.ok ? accept({ host: host.value, port: port === null ? null : port.value }) : host;
}

/** Reads a port from 1 to 65535, in decimal digits alone. */
export function parsePort(raw: string): Result<number> {
  // Boundary: a sign, a leading zero or a letter would be read differently by other parsers.
  const port = PORT.test(raw) ? Number(raw) : 0;
  if (port >= 1 && port <= 65_535) return accept(port);
  return unfit(`port ${quote(raw)}`, 'it is not a port number', 'one from 1 to 65535');
}

/** The one spelling of a host in records and messages, and the one that a lookup gets. */
export function formatHost(host: Host): string {
  return host.kind === 'name' ? host.name : formatAddress(host.address);
}

export function formatAuthority(host: Host, port: number): string {
  const text = formatHost(host);
  return `${text.includes(':') ? `[${text}]` : text}:${port}`;
}

function rejectHost(raw: string, is: string, expected = EXPECTED) {
  return unfit(`host ${quote(raw)}`, is, expected);
}

function problemIn(raw: string): string | null {
  if (raw === '') return 'it is empty';
  if (raw.length > EGRESS_LIMITS.rawHostChars) return `it has ${raw.length} characters`;
  // Boundary: nothing ambiguous passes, and nothing that the URL parser behind toAscii would cut off.
  const found = FORBIDDEN.find(([pattern]) => pattern.test(raw));
  return found === undefined ? null : `it has ${found[1]}`;
}

function problemInName(name: string): string | null {
  if (name.length > EGRESS_LIMITS.nameChars) return `it has ${name.length} characters`;
  for (const label of name.split('.')) {
    if (label === '') return 'it has an empty label';
    if (label.length > EGRESS_LIMITS.labelChars) return `a label has ${label.length} characters`;
    if (!LABEL.test(label)) return `the label ${quote(label)} has a character or a hyphen where none may be`;
  }
  return null;
}

/** The name in lower-case ASCII; null when it has none or has an invalid encoded label. */
function toAscii(raw: string): string | null {
  const lower = raw.toLowerCase();
  if (/^\p{ASCII}*$/u.test(raw) && !/(?:^|\.)xn--/.test(lower)) return lower;
  const ascii = domainToASCII(raw);
  // Boundary: newer versions of Node let an encoded label pass that decodes to nothing, and clients differ on it.
  return ascii === '' || !ascii.split('.').every(isSoundLabel) ? null : ascii;
}

/** An encoded label must be the canonical encoding of what it decodes to. */
function isSoundLabel(label: string): boolean {
  if (!label.startsWith('xn--')) return true;
  const decoded = domainToUnicode(label);
  return decoded !== label && domainToASCII(decoded) === label;
}

export type Scheme = 'http' | 'https';

/** One port of a host and what is spoken there. */
export type Site = { readonly scheme: Scheme; readonly host: Host; readonly port: number };

/**
 * A URL as a request line or an allow-list has it. The port is the one it names or that of its scheme; the path is as it
 * was written, with its query.
 */
export type HttpUrl = Site & { readonly path: string };

/** The port of a scheme when a URL names none. */
export const DEFAULT_PORTS: Readonly<Record<Scheme, number>> = { http: 80, https: 443 };

const URL_PARTS = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#\\]*)(.*)$/s;

/** Reads an absolute http or https URL without repairing it: what a client would have to clean up first is refused. */
export function parseHttpUrl(raw: string): Result<HttpUrl> {
  const subject = `URL ${quote(raw)}`;
  const [whole, rawScheme = '', rawAuthority = '', rest = ''] = URL_PARTS.exec(raw) ?? [];
  const scheme = rawScheme.toLowerCase();
  if (whole === undefined || (scheme !== 'http' && scheme !== 'https'))
    return unfit(subject, 'it does not begin with "http://" or "https://"', 'an absolute URL');
  const authority = parseAuthority(rawAuthority);
  if (!authority.ok) return authority;
  // Boundary: a backslash is a slash to some parsers and a part of the name to others; a fragment is never sent.
  if (/[^!-~]|[\\#]/.test(rest)) {
    const is = 'its path has a "#", a backslash or a character outside printable ASCII';
    return unfit(subject, is, 'it percent-encoded or left out');
  }
  const { host, port } = authority.value;
  return accept({
    scheme,
    host,
    port: port ?? DEFAULT_PORTS[scheme],
    path: rest.startsWith('/') ? rest : `/${rest}`,
  });
}

/** The host as a Host header and a URL have it: with its port unless that is the one of the scheme. */
export function formatSite({ scheme, host, port }: Site): string {
  const whole = formatAuthority(host, port);
  return port === DEFAULT_PORTS[scheme] ? whole.slice(0, whole.lastIndexOf(':')) : whole;
}

/** Reads a URL that a fetch goes to. The refusal does not repeat what may contain a password. */
export function readUrl(raw: string): Result<HttpUrl> {
  const url = parseHttpUrl(raw);
  if (url.ok || !raw.includes('@')) return url;
  return unfit('URL', 'it has a user name or is malformed', '"https://host/path"');
}

export function formatOrigin(url: HttpUrl): string {
  return `${url.scheme}://${formatSite(url)}`;
}

export function formatUrl(url: HttpUrl): string {
  return formatOrigin(url) + url.path;
}

export function isSameOrigin(a: HttpUrl, b: HttpUrl): boolean {
  return formatOrigin(a) === formatOrigin(b);
}
