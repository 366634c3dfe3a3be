import { formatSite, type HttpUrl, parseHttpUrl } from '../http-url.ts';
import type { Parsed } from '../parsed.ts';

/** Reads a URL that a fetch goes to. What may hold a password is not repeated in the refusal. */
export function readUrl(raw: string): Parsed<HttpUrl> {
  const url = parseHttpUrl(raw);
  if (url.ok || !raw.includes('@')) return url;
  const why = 'Cannot use URL: it has a user name or is malformed, expected "https://host/path"';
  return { ok: false, why };
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
