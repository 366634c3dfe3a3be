import { quote } from '../../core/hostile-text.ts';
import type { HttpUrl } from '../http-url.ts';
import { type Field, valuesOf } from '../proxy/fields.ts';
import type { BoundSecret } from '../secrets.ts';
import { resolveLocation } from './location.ts';
import { fail, give, type Result } from './outcome.ts';
import type { Errand } from './read-request.ts';
import { formatOrigin, isSameOrigin } from './url.ts';

/*
 * What a redirect makes of a request, as the Fetch standard has it, and narrower where that would carry something to a
 * stranger. The next request is decided on from the start, like any other. What leaves the origin leaves behind whatever
 * may prove who the caller is, for good: a way back does not bring it back. A body never leaves its origin: a redirect
 * that would take it along is refused, because the same request without its body is another request.
 */

export type Answered = { readonly status: number; readonly fields: readonly Field[] };

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that speak of a body, and go when it goes. */
const OF_BODY: ReadonlySet<string> = new Set([
  ...['content-encoding', 'content-language', 'content-location', 'content-type'],
  ...['content-disposition', 'content-md5', 'content-range'],
]);
/** A word in the name of a header that says that it holds what a stranger must not see. */
const PRIVATE =
  /(?:^|[-_])(?:api-?key|auth\w*|cookie\d?|credentials?|jwt|key|passw(?:or)?d|proxy|secret|session\w*|signature|token)(?:$|[-_])/;

/** Tells whether an answer leads elsewhere. */
export function isRedirect({ status, fields }: Answered): boolean {
  return REDIRECTS.has(status) && valuesOf(fields, 'location').length > 0;
}

/** The request that a redirect asks for. */
export function followRedirect(
  errand: Errand,
  { status, fields }: Answered,
  secrets: readonly BoundSecret[],
): Result<Errand> {
  const [location = '', second] = valuesOf(fields, 'location');
  if (second !== undefined)
    return fail('malformed', 'Cannot follow redirect: it has more than one Location, expected one');
  const url = resolveLocation(errand.url, location);
  if (!url.ok) return url;
  const target = quote(formatOrigin(url.value));
  // Boundary: what was asked for under encryption is not repeated in the open.
  if (errand.url.scheme === 'https' && url.value.scheme === 'http')
    return fail('denied', `Cannot follow redirect to ${target}: it is not encrypted, expected "https"`);
  const next = rewrite({ ...errand, url: url.value }, status);
  if (isSameOrigin(errand.url, url.value)) return give(next);
  // Boundary: the body was meant for one origin.
  if (next.body !== null && next.body.length > 0)
    return fail(
      'denied',
      `Cannot follow redirect to ${target}: the body would leave its origin, expected GET`,
    );
  return give({ ...next, fields: next.fields.filter((field) => mayLeave(field, secrets)) });
}

function rewrite(errand: Errand & { readonly url: HttpUrl }, status: number): Errand {
  const { method, fields } = errand;
  const isGet = status === 303 ? method !== 'GET' && method !== 'HEAD' : status < 303 && method === 'POST';
  if (!isGet) return errand;
  return { ...errand, method: 'GET', body: null, fields: fields.filter(({ name }) => !OF_BODY.has(name)) };
}

/** Boundary: a header goes to another origin only when neither its name nor its value is that of a credential. */
function mayLeave({ name, value }: Field, secrets: readonly BoundSecret[]): boolean {
  return !PRIVATE.test(name) && !secrets.some(({ placeholder }) => value.includes(placeholder));
}
