/**
 * What a head asks for, by a reader that shares nothing with the proxy: the text is split, each line is matched, and the
 * host comes from the URL parser of Node. It is slow, repeats itself and knows no streams; it takes the fewest texts that
 * a proxy has to take, so whatever the proxy takes beyond them is a finding.
 */
export type Wanted = {
  readonly method: string;
  readonly host: string;
  readonly port: number;
  /** Null for a tunnel. */
  readonly path: string | null;
  readonly body: 'none' | 'chunked' | number;
};

const AUTHORITY = /^([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]*)?$/;

/** What the first head in a text asks for; null when it must be refused or is not complete. */
export function wantedBy(text: string): Wanted | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const lines = text.slice(0, end).split('\r\n');
  if (lines.some((line) => /[^\t -~]/.test(line))) return null;
  const [first = '', ...others] = lines;
  const words = first.split(' ');
  const [method = '', target = '', version = ''] = words;
  if (words.length !== 3 || !/^HTTP\/1\.[01]$/.test(version) || !/^[A-Z-]+$/.test(method)) return null;
  if (/^(TRACE|TRACK|PRI)$/.test(method)) return null;
  const headers = new Map<string, string[]>();
  for (const line of others) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (colon < 1 || !/^[a-z0-9_-]+$/.test(name)) return null;
    headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')]);
  }
  if ([...headers.keys()].some((name) => /^(content_length|transfer_encoding|proxy_auth.*)$/.test(name)))
    return null;
  const body = bodyOf(headers, version);
  const place = method === 'CONNECT' ? placeOfTunnel(target) : placeOfUrl(target);
  if (body === null || place === null || !hasHost(headers, version, place, method)) return null;
  if (method === 'CONNECT' && body !== 'none' && body !== 0) return null;
  if (method !== 'CONNECT' && (headers.get('upgrade') ?? []).some((value) => !/^(h2c)?$/i.test(value)))
    return null;
  return { method, ...place, body };
}

type Place = { readonly host: string; readonly port: number; readonly path: string | null };

function placeOfTunnel(target: string): Place | null {
  const [whole, , rawPort] = AUTHORITY.exec(target) ?? [];
  if (whole === undefined || rawPort === undefined) return null;
  return { ...hostAndPort(target, 0), path: null };
}

function placeOfUrl(target: string): Place | null {
  const [whole, authority = '', path = ''] = /^http:\/\/([^/?]*)([/?].*)?$/i.exec(target) ?? [];
  if (whole === undefined || !AUTHORITY.test(authority) || /[#\\]/.test(path)) return null;
  return { ...hostAndPort(authority, 80), path: path.startsWith('/') ? path : `/${path}` };
}

/** The host in the spelling of the URL parser, without a dot at its end. A host that it refuses is empty. */
function hostAndPort(
  authority: string,
  defaultPort: number,
): { readonly host: string; readonly port: number } {
  const [, rawHost = '', rawPort = `:${defaultPort}`] = AUTHORITY.exec(authority) ?? [];
  const port = Number(rawPort.slice(1));
  const url = `http://${rawHost.replace(/\.$/, '')}/`;
  const mapped = URL.canParse(url) ? new URL(url).hostname : '';
  return { host: mapped.replace(/^\[|\]$/g, ''), port: port > 65_535 ? 0 : port };
}

function hasHost(
  headers: ReadonlyMap<string, readonly string[]>,
  version: string,
  place: Place,
  method: string,
) {
  const hosts = headers.get('host') ?? [];
  const [host = ''] = hosts;
  if (place.host === '' || hosts.length > 1) return false;
  if (hosts.length === 0) return version === 'HTTP/1.0';
  if (!AUTHORITY.test(host)) return false;
  const named = hostAndPort(host, method === 'CONNECT' ? place.port : 80);
  return named.host === place.host && named.port === place.port;
}

function bodyOf(headers: ReadonlyMap<string, readonly string[]>, version: string): Wanted['body'] | null {
  const lengths = headers.get('content-length') ?? [];
  const codings = headers.get('transfer-encoding') ?? [];
  if (lengths.length + codings.length > 1) return null;
  const [length] = lengths;
  const [coding] = codings;
  if (coding !== undefined)
    return coding.toLowerCase() === 'chunked' && version === 'HTTP/1.1' ? 'chunked' : null;
  if (length === undefined) return 'none';
  return /^[0-9]{1,15}$/.test(length) && String(Number(length)) === length ? Number(length) : null;
}
