import { quote } from '../../core/hostile-text.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import {
  DEFAULT_PORTS,
  formatAuthority,
  formatHost,
  formatSite,
  type HttpUrl,
  parseAuthority,
  parseHttpUrl,
  type Scheme,
  type Site,
} from '../authority.ts';
import type { EgressRequest } from '../decide.ts';
import { findOverrides } from '../overrides.ts';
import {
  endToEnd,
  type Field,
  type Framing,
  formatFields,
  formatFraming,
  framingOf,
  type HttpResult,
  parseFields,
  tokensOf,
  valuesOf,
} from './fields.ts';
import type { HeadLines } from './head.ts';

/*
 * Reads the head of a request. The head sent to the target shares only the path and the headers meant for the target
 * with it, and each of those was parsed; the host and the framing are generated.
 */

type Common = {
  readonly method: string;
  /** The value of Proxy-Authorization. */
  readonly credential: string | null;
  readonly minor: 0 | 1;
};

/** Only the destination is known of what goes through it. */
export type TunnelRequest = Common & { readonly kind: 'tunnel'; readonly egress: EgressRequest };

export type PlainRequest = Common & {
  readonly kind: 'plain';
  readonly egress: EgressRequest & { readonly scheme: Scheme };
  readonly path: string;
  readonly fields: readonly Field[];
  readonly framing: Framing;
};

export type ProxyRequest = TunnelRequest | PlainRequest;

type RequestLine = {
  readonly method: string;
  readonly rawTarget: string;
  /** Of HTTP/1. */
  readonly minor: 0 | 1;
};

type Parts = {
  readonly line: RequestLine;
  readonly fields: readonly Field[];
  readonly framing: Framing;
  readonly credential: string | null;
};

const LINE = /^([^ ]+) ([^ ]+) HTTP\/([0-9.]+)$/;
const METHOD = /^[A-Z]{1,16}(?:-[A-Z]{1,16})?$/;
/** TRACE sends a request back with all that was added to it on the way; PRI begins another protocol. */
const REFUSED_METHODS: ReadonlySet<string> = new Set(['TRACE', 'TRACK', 'PRI']);
const EXPECTED_LINE = '"CONNECT host:port HTTP/1.1" or "GET http://host/ HTTP/1.1"';

/** Reads the first line of a request: two single spaces and nothing to repair. */
export function parseRequestLine(line: string): HttpResult<RequestLine> {
  if (line === 'PRI * HTTP/2.0') return rejectLine(505, line, 'it is the preface of HTTP/2', '"HTTP/1.1"');
  const [whole, method = '', rawTarget = '', version = ''] = LINE.exec(line) ?? [];
  if (whole === undefined) {
    const isOld = /^[A-Z]+ [^ ]+$/.test(line);
    const is = isOld ? 'it has no version, as in HTTP/0.9' : 'it is not a request line';
    return rejectLine(400, line, is, EXPECTED_LINE);
  }
  if (version !== '1.1' && version !== '1.0')
    return rejectLine(505, line, `its version is ${quote(version)}`, '"1.1" or "1.0"');
  // Boundary: an entry with methods compares exactly, so a method in another case does not match.
  if (!METHOD.test(method))
    return rejectLine(400, line, `${quote(method)} is not a valid method`, 'capital letters');
  if (REFUSED_METHODS.has(method))
    return rejectLine(405, line, `${quote(method)} is not passed on`, 'another method');
  if (!/^[!-~]+$/.test(rawTarget)) return rejectLine(400, line, 'its target is not ASCII', EXPECTED_LINE);
  return accept({ method, rawTarget, minor: version === '1.1' ? 1 : 0 });
}

/** Reads a whole head that was sent to a proxy. The result can be decided on and, if it is plain, passed on. */
export function parseRequestHead(lines: HeadLines): HttpResult<ProxyRequest> {
  const parts = readParts(lines);
  if (!parts.ok) return parts;
  if (parts.value.line.method === 'CONNECT') return readTunnel(parts.value);
  const url = readAbsolute(parts.value.line.rawTarget);
  return url.ok ? readPlain(parts.value, url.value, DEFAULT_PORTS.http) : url;
}

/** Reads a whole head that was sent to a site itself. A request for another site is refused. */
export function parseSiteHead(lines: HeadLines, site: Site): HttpResult<PlainRequest> {
  const parts = readParts(lines);
  if (!parts.ok) return parts;
  const url = readAt(site, parts.value.line);
  return url.ok ? readPlain(parts.value, url.value, site.port) : url;
}

function readParts([first, ...others]: HeadLines): HttpResult<Parts> {
  const line = parseRequestLine(first);
  if (!line.ok) return line;
  const fields = parseFields(others, 'request');
  if (!fields.ok) return fields;
  const framing = framingOf(fields.value, line.value.minor, 'request');
  if (!framing.ok) return framing;
  const [credential = null, second] = valuesOf(fields.value, 'proxy-authorization');
  if (second !== undefined) {
    const is = 'it has more than one Proxy-Authorization';
    return reject({ status: 400, subject: 'request', is, expected: 'one' });
  }
  return accept({ line: line.value, fields: fields.value, framing: framing.value, credential });
}

function readTunnel({ line, fields, framing, credential }: Parts): HttpResult<TunnelRequest> {
  const { method, rawTarget, minor } = line;
  const target = fromClient(parseAuthority(rawTarget));
  if (!target.ok) return target;
  const { host, port } = target.value;
  if (port === null) return rejectTarget(rawTarget, 'it has no port', '"host:port"');
  // Boundary: a body here would be taken for the first bytes of the tunnel by some programs.
  if (framing.kind === 'chunked' || (framing.kind === 'length' && framing.bytes > 0))
    return rejectTarget(rawTarget, 'CONNECT has a body', 'none');
  const wrong = problemWithHost(fields, { host, port }, { minor, hostPort: port });
  if (wrong !== null) return rejectTarget(rawTarget, wrong, formatAuthority(host, port));
  return accept({ kind: 'tunnel', method, egress: { host, port }, credential, minor });
}

function readAbsolute(rawTarget: string): HttpResult<HttpUrl> {
  if (rawTarget.startsWith('/') || rawTarget === '*')
    return rejectTarget(rawTarget, 'it has no host and this is a proxy, not a server', '"http://host/…"');
  if (/^https:/i.test(rawTarget)) return rejectTarget(rawTarget, 'it is sent unencrypted', 'CONNECT');
  return fromClient(parseHttpUrl(rawTarget));
}

function readAt({ scheme, host, port }: Site, { method, rawTarget }: RequestLine): HttpResult<HttpUrl> {
  const here = formatAuthority(host, port);
  const elsewhere = () => {
    const is = `this connection leads to ${quote(here)} alone`;
    return rejectTarget(rawTarget, is, `"/…" or "${scheme}://${here}/…"`);
  };
  if (method === 'CONNECT') return elsewhere();
  const isRelative = rawTarget.startsWith('/');
  const url = fromClient(parseHttpUrl(isRelative ? `${scheme}://${here}${rawTarget}` : rawTarget));
  if (!url.ok) return isRelative ? url : elsewhere();
  // Boundary: a client that may speak to one site may not speak to another over the same connection.
  const isHere = url.value.scheme === scheme && formatAuthority(url.value.host, url.value.port) === here;
  return isHere ? url : elsewhere();
}

function readPlain(
  { line, fields, framing, credential }: Parts,
  { host, port, scheme, path }: HttpUrl,
  hostPort: number,
): HttpResult<PlainRequest> {
  const { method, minor, rawTarget } = line;
  const egress = { host, port, scheme, method, path, overrides: findOverrides(fields, path) };
  const wrong = problemWithHost(fields, egress, { minor, hostPort });
  if (wrong !== null) return rejectTarget(rawTarget, wrong, formatAuthority(host, port));
  const unsupported = rejectUnsupported(fields, egress);
  if (!unsupported.ok) return unsupported;
  const passed = endToEnd(fields, 'request');
  if (!passed.ok) return passed;
  return accept({ kind: 'plain', method, egress, credential, minor, path, fields: passed.value, framing });
}

/** The port of a Host header without one. */
type HostTerms = { readonly minor: 0 | 1; readonly hostPort: number };

/** Boundary: a server picks its site by the Host header, so it has to be the host that is decided on. */
function problemWithHost(fields: readonly Field[], egress: EgressRequest, terms: HostTerms): string | null {
  const [raw, second] = valuesOf(fields, 'host');
  if (second !== undefined) return 'it has more than one Host header';
  if (raw === undefined) return terms.minor === 0 ? null : 'it has no Host header';
  const named = parseAuthority(raw);
  const port = named.ok ? (named.value.port ?? terms.hostPort) : 0;
  const isSame =
    named.ok && formatAuthority(named.value.host, port) === formatAuthority(egress.host, egress.port);
  return isSame ? null : `its Host header is ${quote(raw)}`;
}

/** Refuses upgrades and expectations that this proxy cannot fulfil. */
function rejectUnsupported(fields: readonly Field[], egress: EgressRequest): HttpResult<null> {
  const upgrades = tokensOf(fields, 'upgrade', 'request');
  if (!upgrades.ok) return rejectUpgrade(valuesOf(fields, 'upgrade').join(', '), egress);
  // A client that offers h2c continues with HTTP/1.1 when the offer is dropped; with any other upgrade it would not.
  const upgrade = upgrades.value.find((each) => each !== 'h2c');
  if (upgrade !== undefined) return rejectUpgrade(upgrade, egress);
  const expectation = valuesOf(fields, 'expect').join(', ');
  if (expectation === '' || expectation.toLowerCase() === '100-continue') return accept(null);
  const subject = `expectation ${quote(expectation)}`;
  return reject({ status: 417, subject, is: 'it is not known', expected: '"100-continue"' });
}

/** Other protocols go through tunnels that are not opened. The message says how to get one. */
function rejectUpgrade(to: string, { host, port }: EgressRequest) {
  const target = quote(formatAuthority(host, port));
  return reject({
    status: 501,
    subject: `upgrade to ${quote(to)}`,
    is: 'the proxy reads this request',
    expected: `CONNECT to ${target}, with the entry ${target} in process.egress_hosts and without ${quote(formatHost(host))} in process.egress_intercept`,
  });
}

/** The head that a target gets. It says that the connection ends after the response, so no connection is reused. */
export function formatRequestHead(
  request: Pick<PlainRequest, 'method' | 'path' | 'fields' | 'framing'> & { readonly egress: Site },
): Buffer {
  const parts = [
    `${request.method} ${request.path} HTTP/1.1\r\n`,
    `Host: ${formatSite(request.egress)}\r\n`,
    formatFields(request.fields),
    formatFraming(request.framing),
    'Connection: close\r\n\r\n',
  ];
  return Buffer.from(parts.join(''), 'latin1');
}

function fromClient<T>(parsed: Result<T>): HttpResult<T> {
  return parsed.ok ? parsed : reject({ ...parsed.problem, status: 400 });
}

function rejectLine(status: number, line: string, is: string, expected: string) {
  return reject({ status, subject: `request ${quote(line)}`, is, expected });
}

function rejectTarget(rawTarget: string, is: string, expected: string) {
  return reject({ status: 400, subject: `target ${quote(rawTarget)}`, is, expected });
}
