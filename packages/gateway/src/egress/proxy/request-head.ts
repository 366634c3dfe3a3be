import { formatAuthority, formatHost, parseAuthority } from '../authority.ts';
import type { EgressRequest } from '../decide.ts';
import { DEFAULT_PORTS, parseHttpUrl } from '../http-url.ts';
import { type Parsed, quote } from '../parsed.ts';
import { endToEnd, type Field, formatFields, parseFields, tokensOf, valuesOf } from './fields.ts';
import { type Framing, formatFraming, framingOf } from './framing.ts';
import { found, type Read, turnDown } from './refusal.ts';
import { parseRequestLine, type RequestLine } from './request-line.ts';

/*
 * Reads the head of a request to the proxy and writes the head that the target gets. The two share no text but the path
 * and the headers that are meant for the target, and each of those was read; the host and the framing are made anew.
 */

type Common = {
  readonly method: string;
  /** What the allow-list is asked. Nothing is known of what goes through a tunnel. */
  readonly asked: EgressRequest;
  /** The value of Proxy-Authorization. */
  readonly credential: string | null;
  readonly minor: 0 | 1;
};

export type ProxyRequest =
  | (Common & { readonly kind: 'tunnel' })
  | (Common & {
      readonly kind: 'plain';
      readonly path: string;
      readonly fields: readonly Field[];
      readonly framing: Framing;
    });

/** Reads a whole head. What is given can be decided on and, if it is plain, be passed on. */
export function parseRequestHead([first, ...others]: readonly [string, ...string[]]): Read<ProxyRequest> {
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
  return line.value.method === 'CONNECT'
    ? readTunnel(line.value, fields.value, framing.value, credential)
    : readPlain(line.value, fields.value, framing.value, credential);
}

function readTunnel(
  { method, rawTarget, minor }: RequestLine,
  fields: readonly Field[],
  framing: Framing,
  credential: string | null,
): Read<ProxyRequest> {
  const target = ofClient(parseAuthority(rawTarget));
  if (!target.ok) return target;
  const { host, port } = target.value;
  if (port === null) return refuseTarget(rawTarget, 'it has no port', '"host:port"');
  // Boundary: a body here would be taken for the first bytes of the tunnel by some and not by others.
  if (framing.kind === 'chunked' || (framing.kind === 'length' && framing.bytes > 0))
    return refuseTarget(rawTarget, 'CONNECT has a body', 'none');
  const asked = { host, port };
  const wrong = problemWithHost(fields, asked, { minor, defaultPort: port });
  if (wrong !== null) return refuseTarget(rawTarget, wrong, formatAuthority(host, port));
  return found({ kind: 'tunnel', method, asked, credential, minor });
}

function readPlain(
  { method, rawTarget, minor }: RequestLine,
  fields: readonly Field[],
  framing: Framing,
  credential: string | null,
): Read<ProxyRequest> {
  if (rawTarget.startsWith('/') || rawTarget === '*')
    return refuseTarget(rawTarget, 'it has no host and this is a proxy, not a server', '"http://host/…"');
  if (/^https:/i.test(rawTarget)) return refuseTarget(rawTarget, 'it is sent in the open', 'CONNECT');
  const url = ofClient(parseHttpUrl(rawTarget));
  if (!url.ok) return url;
  const { host, port, scheme, path } = url.value;
  const asked = { host, port, scheme, method, path };
  const wrong = problemWithHost(fields, asked, { minor, defaultPort: DEFAULT_PORTS.http });
  if (wrong !== null) return refuseTarget(rawTarget, wrong, formatAuthority(host, port));
  const refused = refuseWishes(fields);
  if (!refused.ok) return refused;
  const passed = endToEnd(fields, 'request');
  if (!passed.ok) return passed;
  return found({ kind: 'plain', method, asked, credential, minor, path, fields: passed.value, framing });
}

type HostTerms = { readonly minor: 0 | 1; readonly defaultPort: number };

/** Boundary: a server picks its site by the Host header, so it has to be the host that is decided on. */
function problemWithHost(fields: readonly Field[], asked: EgressRequest, terms: HostTerms): string | null {
  const [raw, second] = valuesOf(fields, 'host');
  if (second !== undefined) return 'it has more than one Host header';
  if (raw === undefined) return terms.minor === 0 ? null : 'it has no Host header';
  const named = parseAuthority(raw);
  const port = named.ok ? (named.value.port ?? terms.defaultPort) : 0;
  const isSame =
    named.ok && formatAuthority(named.value.host, port) === formatAuthority(asked.host, asked.port);
  return isSame ? null : `its Host header is ${quote(raw)}`;
}

/** Refuses what a client asks of this proxy and does not get. */
function refuseWishes(fields: readonly Field[]): Read<null> {
  const upgrades = tokensOf(fields, 'upgrade', 'request');
  if (!upgrades.ok) return refuseUpgrade(valuesOf(fields, 'upgrade').join(', '));
  // A client that offers h2c goes on with HTTP/1.1 when the offer is dropped; with any other it would not.
  const upgrade = upgrades.value.find((each) => each !== 'h2c');
  if (upgrade !== undefined) return refuseUpgrade(upgrade);
  const expected = valuesOf(fields, 'expect').join(', ');
  if (expected !== '' && expected.toLowerCase() !== '100-continue')
    return turnDown(417, `Cannot meet ${quote(expected)}: it is not known, expected "100-continue"`);
  return found(null);
}

function refuseUpgrade(to: string) {
  return turnDown(501, `Cannot upgrade to ${quote(to)}: the request is a plain one, expected CONNECT`);
}

/** The head that a target gets. It says that the connection ends after the response, so none is used for a second. */
export function formatRequestHead(request: ProxyRequest & { readonly kind: 'plain' }): Buffer {
  const { host, port } = request.asked;
  const named = port === DEFAULT_PORTS.http ? bracketed(formatHost(host)) : formatAuthority(host, port);
  const parts = [
    `${request.method} ${request.path} HTTP/1.1\r\n`,
    `Host: ${named}\r\n`,
    formatFields(request.fields),
    formatFraming(request.framing),
    'Connection: close\r\n\r\n',
  ];
  return Buffer.from(parts.join(''), 'latin1');
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function ofClient<T>(parsed: Parsed<T>): Read<T> {
  return parsed.ok ? parsed : turnDown(400, parsed.why);
}

function refuseTarget(rawTarget: string, is: string, expected: string) {
  return turnDown(400, `Cannot use target ${quote(rawTarget)}: ${is}, expected ${expected}`);
}
