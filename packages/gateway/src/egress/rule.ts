import { quote } from '../core/hostile-text.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { parsePort } from './authority.ts';
import { DEFAULT_PORTS, type Scheme } from './http-url.ts';
import { EGRESS_LIMITS } from './limits.ts';
import { normalizePath, widenPath } from './path.ts';
import { type Place, parsePlace, widthProblem } from './place.ts';

/*
 * One entry of an allow-list: `example.com`, `*.example.com`, `example.com:8443`, `https://example.com/v1/`,
 * `GET,HEAD https://example.com/v1/`, `10.1.2.3:8080`, `10.1.2.0/24:8080`, `[fd12::]/16`, and each with `!` in front.
 *
 * What an entry leaves out is read against the caller. An allowing entry without a port means 80 and 443, or the port of
 * its scheme; a denying one means every port. A path means itself and what is beneath it; with a slash at its end an
 * allowing one means only what is beneath it, and a denying one is compared without case.
 */

/** An entry that was read. Null means any. */
export type Rule = {
  /** As it was written. */
  readonly entry: string;
  readonly denies: boolean;
  readonly place: Place;
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
/** Those that can be asked for through a proxy; a misspelt one would be an entry without effect. */
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
  const place = parsePlace(rawHost, rawBits);
  if (!place.ok) return place;
  const port = rawPort === undefined ? accept(null) : parsePort(rawPort);
  return port.ok ? accept({ place: place.value, scheme: null, port: port.value, path: null }) : port;
}

function refuseEntry(entry: string, is: string, expected: string) {
  return reject({ subject: `entry ${quote(entry)}`, is, expected });
}
