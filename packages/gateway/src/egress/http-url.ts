import { quote } from '../core/hostile-text.ts';
import { accept, type Result, reject } from '../core/result.ts';
import { formatAuthority, type Host, parseAuthority } from './authority.ts';

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
  if (whole === undefined || (scheme !== 'http' && scheme !== 'https')) {
    return reject({
      subject,
      is: 'it does not begin with "http://" or "https://"',
      expected: 'an absolute URL',
    });
  }
  const authority = parseAuthority(rawAuthority);
  if (!authority.ok) return authority;
  // Boundary: a backslash is a slash to some parsers and a part of the name to others; a fragment is never sent.
  if (/[^!-~]|[\\#]/.test(rest)) {
    return reject({
      subject,
      is: 'its path has a "#", a backslash or a character outside printable ASCII',
      expected: 'it percent-encoded or left out',
    });
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
