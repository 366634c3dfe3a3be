import { formatAuthority, formatHost } from '../authority.ts';
import { DEFAULT_PORTS, type HttpUrl, parseHttpUrl } from '../http-url.ts';
import type { Parsed } from '../parsed.ts';

/** Reads a URL that a fetch goes to. What may hold a password is not repeated in the refusal. */
export function readUrl(raw: string): Parsed<HttpUrl> {
  const url = parseHttpUrl(raw);
  if (url.ok || !raw.includes('@')) return url;
  const why = 'Cannot use URL: it has a user name or is malformed, expected "https://host/path"';
  return { ok: false, why };
}

/** The host as a Host header and a URL have it: with its port unless that is the one of the scheme. */
export function formatSite({ scheme, host, port }: HttpUrl): string {
  if (port !== DEFAULT_PORTS[scheme]) return formatAuthority(host, port);
  const text = formatHost(host);
  return text.includes(':') ? `[${text}]` : text;
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
