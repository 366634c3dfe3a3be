import { quote } from '../../core/hostile-text.ts';
import { sentenceOf } from '../../core/result.ts';
import type { HttpUrl } from '../http-url.ts';
import { fail, give, type Result } from './outcome.ts';
import { formatOrigin, readUrl } from './url.ts';

/*
 * Where a redirect leads (RFC 3986, section 5). A browser repairs what it finds in a Location: it drops tabs and line
 * breaks, takes a backslash for a slash and adds slashes that are missing. Here all that is refused, so that the URL that
 * is decided on is the one that every reader would find in the text.
 */

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/** Resolves a Location against the URL of the request that it answers. The fragment, which is never sent, is left out. */
export function resolveLocation(base: HttpUrl, raw: string): Result<HttpUrl> {
  // Boundary: nothing that two programs could read in two ways.
  if (/[^!-~]|\\/.test(raw)) {
    const is = 'it has a backslash, a blank or what is not printable ASCII';
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
  return give({ ...url.value, path: withoutDots(url.value.path) });
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

/** Follows `.` and `..`, which never lead above the root. Encoded dots stay as they are: the list takes them for doubtful. */
function withoutDots(whole: string): string {
  const query = whole.indexOf('?');
  const path = query < 0 ? whole : whole.slice(0, query);
  const kept: string[] = [];
  const segments = path.slice(1).split('/');
  for (const [index, segment] of segments.entries()) {
    const isDots = segment === '.' || segment === '..';
    if (segment === '..') kept.pop();
    if (!isDots) kept.push(segment);
    else if (index === segments.length - 1) kept.push('');
  }
  return `/${kept.join('/')}${whole.slice(path.length)}`;
}
