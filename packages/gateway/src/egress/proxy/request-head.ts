import { quote } from '../../core/hostile-text.ts';
import { type Result, sentenceOf } from '../../core/result.ts';
import { formatAuthority, parseAuthority } from '../authority.ts';
import type { EgressRequest } from '../decide.ts';
import { DEFAULT_PORTS, type HttpUrl, parseHttpUrl, type Scheme, type Site } from '../http-url.ts';
import { endToEnd, type Field, parseFields, valuesOf } from './fields.ts';
import { type Framing, framingOf } from './framing.ts';
import type { Head } from './head-reader.ts';
import { found, type Read, turnDown } from './refusal.ts';
import { parseRequestLine, type RequestLine } from './request-line.ts';
import { refuseWishes } from './request-wishes.ts';

/*
 * Reads the head of a request. The head that the target gets shares no text with it but the path and the headers that are
 * meant for the target, and each of those was read; the host and the framing are made anew.
 */

type Common = {
  readonly method: string;
  /** The value of Proxy-Authorization. */
  readonly credential: string | null;
  readonly minor: 0 | 1;
};

/** Nothing is known of what goes through it but where it leads. */
export type TunnelRequest = Common & {
  readonly kind: 'tunnel';
  readonly asked: EgressRequest;
};

export type PlainRequest = Common & {
  readonly kind: 'plain';
  readonly asked: EgressRequest & { readonly scheme: Scheme };
  readonly path: string;
  readonly fields: readonly Field[];
  readonly framing: Framing;
};

export type ProxyRequest = TunnelRequest | PlainRequest;

type Lines = Head['lines'];
type Parts = {
  readonly line: RequestLine;
  readonly fields: readonly Field[];
  readonly framing: Framing;
  readonly credential: string | null;
};

/** Reads a whole head that was sent to a proxy. What is given can be decided on and, if it is plain, be passed on. */
export function parseRequestHead(lines: Lines): Read<ProxyRequest> {
  const parts = readParts(lines);
  if (!parts.ok) return parts;
  if (parts.value.line.method === 'CONNECT') return readTunnel(parts.value);
  const url = readAbsolute(parts.value.line.rawTarget);
  if (!url.ok) return url;
  return readPlain(parts.value, url.value, DEFAULT_PORTS.http);
}

/** Reads a whole head that was sent to a site itself. It is for that site or it is refused. */
export function parseSiteHead(lines: Lines, site: Site): Read<PlainRequest> {
  const parts = readParts(lines);
  if (!parts.ok) return parts;
  const url = readAt(site, parts.value.line);
  return url.ok ? readPlain(parts.value, url.value, site.port) : url;
}

function readParts([first, ...others]: Lines): Read<Parts> {
  const line = parseRequestLine(first);
  if (!line.ok) return line;
  const fields = parseFields(others, 'request');
  if (!fields.ok) return fields;
  const framing = framingOf(fields.value, line.value.minor, 'request');
  if (!framing.ok) return framing;
  const credentials = valuesOf(fields.value, 'proxy-authorization');
  if (credentials.length > 1)
    return turnDown(400, 'Cannot use request: it has more than one Proxy-Authorization, expected one');
  const [credential = null] = credentials;
  return found({ line: line.value, fields: fields.value, framing: framing.value, credential });
}

function readTunnel({ line, fields, framing, credential }: Parts): Read<TunnelRequest> {
  const { method, rawTarget, minor } = line;
  const target = ofClient(parseAuthority(rawTarget));
  if (!target.ok) return target;
  const { host, port } = target.value;
  if (port === null) return refuseTarget(rawTarget, 'it has no port', '"host:port"');
  // Boundary: a body here would be taken for the first bytes of the tunnel by some and not by others.
  if (framing.kind === 'chunked' || (framing.kind === 'length' && framing.bytes > 0))
    return refuseTarget(rawTarget, 'CONNECT has a body', 'none');
  const asked = { host, port };
  const wrong = problemWithHost(fields, asked, { minor, hostPort: port });
  if (wrong !== null) return refuseTarget(rawTarget, wrong, formatAuthority(host, port));
  return found({ kind: 'tunnel', method, asked, credential, minor });
}

function readAbsolute(rawTarget: string): Read<HttpUrl> {
  if (rawTarget.startsWith('/') || rawTarget === '*')
    return refuseTarget(rawTarget, 'it has no host and this is a proxy, not a server', '"http://host/…"');
  if (/^https:/i.test(rawTarget)) return refuseTarget(rawTarget, 'it is sent in the open', 'CONNECT');
  return ofClient(parseHttpUrl(rawTarget));
}

function readAt({ scheme, host, port }: Site, { method, rawTarget }: RequestLine): Read<HttpUrl> {
  const here = formatAuthority(host, port);
  const refuse = () =>
    refuseTarget(
      rawTarget,
      `this connection leads to ${quote(here)} alone`,
      `"/…" or "${scheme}://${here}/…"`,
    );
  if (method === 'CONNECT') return refuse();
  const raw = rawTarget.startsWith('/') ? `${scheme}://${here}${rawTarget}` : rawTarget;
  const url = parseHttpUrl(raw);
  if (!url.ok) return rawTarget.startsWith('/') ? turnDown(400, sentenceOf(url.problem)) : refuse();
  // Boundary: whoever may speak to one site may not speak to another over the same connection.
  const isHere = url.value.scheme === scheme && formatAuthority(url.value.host, url.value.port) === here;
  return isHere ? url : refuse();
}

function readPlain(
  { line, fields, framing, credential }: Parts,
  { host, port, scheme, path }: HttpUrl,
  hostPort: number,
): Read<PlainRequest> {
  const { method, minor, rawTarget } = line;
  const asked = { host, port, scheme, method, path };
  const wrong = problemWithHost(fields, asked, { minor, hostPort });
  if (wrong !== null) return refuseTarget(rawTarget, wrong, formatAuthority(host, port));
  const refused = refuseWishes(fields, { host, port });
  if (!refused.ok) return refused;
  const passed = endToEnd(fields, 'request');
  if (!passed.ok) return passed;
  return found({ kind: 'plain', method, asked, credential, minor, path, fields: passed.value, framing });
}

/** The port is the one of a Host header that names none. */
type HostTerms = { readonly minor: 0 | 1; readonly hostPort: number };

/** Boundary: a server picks its site by the Host header, so it has to be the host that is decided on. */
function problemWithHost(fields: readonly Field[], asked: EgressRequest, terms: HostTerms): string | null {
  const [raw, second] = valuesOf(fields, 'host');
  if (second !== undefined) return 'it has more than one Host header';
  if (raw === undefined) return terms.minor === 0 ? null : 'it has no Host header';
  const named = parseAuthority(raw);
  const port = named.ok ? (named.value.port ?? terms.hostPort) : 0;
  const isSame =
    named.ok && formatAuthority(named.value.host, port) === formatAuthority(asked.host, asked.port);
  return isSame ? null : `its Host header is ${quote(raw)}`;
}

function ofClient<T>(parsed: Result<T>): Read<T> {
  return parsed.ok ? parsed : turnDown(400, sentenceOf(parsed.problem));
}

function refuseTarget(rawTarget: string, is: string, expected: string) {
  return turnDown(400, `Cannot use target ${quote(rawTarget)}: ${is}, expected ${expected}`);
}
