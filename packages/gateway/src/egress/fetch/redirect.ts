import { quote } from '../../core/hostile-text.ts';
import { accept, sentenceOf } from '../../core/result.ts';
import { formatOrigin, type HttpUrl, isSameOrigin, readUrl } from '../authority.ts';
import { type Field, valuesOf } from '../http1/fields.ts';
import type { BoundSecret } from '../secrets.ts';
import { type Fetched, fail } from './outcome.ts';
import type { PreparedRequest } from './request.ts';

/*
 * Applies a redirect to a request, as in the Fetch standard, and stricter where that would leak something to another
 * origin. The next request is decided on from the start, like any other. Leaving the origin removes all credentials
 * permanently: a redirect back does not restore them. A body never leaves its origin: a redirect that would take it
 * along is refused, because the same request without its body is another request.
 */

export type RedirectAnswer = { readonly status: number; readonly fields: readonly Field[] };

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that speak of a body, and go when it goes. */
const OF_BODY: ReadonlySet<string> = new Set([
  ...['content-encoding', 'content-language', 'content-location', 'content-type'],
  ...['content-disposition', 'content-md5', 'content-range'],
]);
/** A word in the name of a header that marks its value as a credential. */
const PRIVATE =
  /(?:^|[-_])(?:api-?key|auth\w*|cookie\d?|credentials?|jwt|key|passw(?:or)?d|proxy|secret|session\w*|signature|token)(?:$|[-_])/;

export function isRedirect({ status, fields }: RedirectAnswer): boolean {
  return REDIRECTS.has(status) && valuesOf(fields, 'location').length > 0;
}

export function followRedirect(
  prepared: PreparedRequest,
  { status, fields }: RedirectAnswer,
  secrets: readonly BoundSecret[],
): Fetched<PreparedRequest> {
  const [location = '', second] = valuesOf(fields, 'location');
  if (second !== undefined)
    return fail('malformed', 'Cannot follow redirect: it has more than one Location, expected one');
  const url = resolveLocation(prepared.url, location);
  if (!url.ok) return url;
  const target = quote(formatOrigin(url.value));
  // Boundary: what was requested under encryption is not repeated without it.
  if (prepared.url.scheme === 'https' && url.value.scheme === 'http')
    return fail('denied', `Cannot follow redirect to ${target}: it is not encrypted, expected "https"`);
  const next = rewrite({ ...prepared, url: url.value }, status);
  if (isSameOrigin(prepared.url, url.value)) return accept(next);
  // Boundary: the body was meant for one origin.
  if (next.body !== null && next.body.length > 0)
    return fail(
      'denied',
      `Cannot follow redirect to ${target}: the body would leave its origin, expected GET`,
    );
  return accept({ ...next, fields: next.fields.filter((field) => mayLeave(field, secrets)) });
}

function rewrite(prepared: PreparedRequest & { readonly url: HttpUrl }, status: number): PreparedRequest {
  const { method, fields } = prepared;
  const isGet = status === 303 ? method !== 'GET' && method !== 'HEAD' : status < 303 && method === 'POST';
  if (!isGet) return prepared;
  return { ...prepared, method: 'GET', body: null, fields: fields.filter(({ name }) => !OF_BODY.has(name)) };
}

/** Boundary: a header goes to another origin only when neither its name nor its value looks like a credential. */
function mayLeave({ name, value }: Field, secrets: readonly BoundSecret[]): boolean {
  return !PRIVATE.test(name) && !secrets.some(({ placeholder }) => value.includes(placeholder));
}

/*
 * Where a redirect leads (RFC 3986, section 5). A browser repairs what it finds in a Location: it drops tabs and line
 * breaks, takes a backslash for a slash and adds slashes that are missing. All of that is refused here, so that the URL
 * that is decided on is the one that every parser would read.
 */

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/** Resolves a Location against the URL of the request that it answers. The fragment, which is never sent, is left out. */
export function resolveLocation(base: HttpUrl, raw: string): Fetched<HttpUrl> {
  // Boundary: nothing that two programs could read differently.
  if (/[^!-~]|\\/.test(raw)) {
    const is = 'it has a backslash, a blank or a character outside printable ASCII';
    return fail('malformed', `Cannot follow redirect to ${quote(raw)}: ${is}, expected them encoded`);
  }
  const [reference = ''] = raw.split('#', 1);
  const scheme = SCHEME.exec(reference)?.[1]?.toLowerCase() ?? base.scheme;
  // Boundary: no redirect makes a file, a program or another protocol out of a web address.
  if (scheme !== 'http' && scheme !== 'https') {
    const expected = 'expected "http" or "https"';
    return fail('denied', `Cannot follow redirect: its scheme is ${quote(scheme)}, ${expected}`);
  }
  const url = readUrl(absolute(base, reference));
  if (!url.ok) return fail('malformed', sentenceOf(url.problem));
  return accept({ ...url.value, path: withoutDots(url.value.path) });
}

function absolute(base: HttpUrl, reference: string): string {
  if (SCHEME.test(reference)) return reference;
  if (reference.startsWith('//')) return `${base.scheme}:${reference}`;
  const origin = formatOrigin(base);
  if (reference.startsWith('/')) return origin + reference;
  if (reference === '') return origin + base.path;
  const [path = ''] = base.path.split('?', 1);
  if (reference.startsWith('?')) return origin + path + reference;
  return origin + path.slice(0, path.lastIndexOf('/') + 1) + reference;
}

/** Follows `.` and `..`, also with encoded dots, as a browser does; they never lead above the root. */
function withoutDots(whole: string): string {
  const query = whole.indexOf('?');
  const path = query < 0 ? whole : whole.slice(0, query);
  const kept: string[] = [];
  const segments = path.slice(1).split('/');
  for (const [index, segment] of segments.entries()) {
    const decoded = segment.replaceAll(/%2e/gi, '.');
    if (decoded === '..') kept.pop();
    if (decoded !== '.' && decoded !== '..') kept.push(segment);
    else if (index === segments.length - 1) kept.push('');
  }
  return `/${kept.join('/')}${whole.slice(path.length)}`;
}
