import { type Result, reject } from '../../core/result.ts';
import { formatSite, type HttpUrl, parseHttpUrl } from '../http-url.ts';

/** Reads a URL that a fetch goes to. What may hold a password is not repeated in the refusal. */
export function readUrl(raw: string): Result<HttpUrl> {
  const url = parseHttpUrl(raw);
  if (url.ok || !raw.includes('@')) return url;
  return reject({
    subject: 'URL',
    is: 'it has a user name or is malformed',
    expected: '"https://host/path"',
  });
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
