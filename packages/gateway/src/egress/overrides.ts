import type { Field } from './http1/fields.ts';

/*
 * Ways to tell a server another method or path than the request line has. Frameworks read them where they are switched
 * on, so a request with one of them can be read in two ways: its method, or its path, counts as unknown.
 */

/** A term of a request that a server may read differently, and by what. */
export type Override = { readonly term: 'method' | 'path'; readonly by: string };

/** By the name of the header without its separators, since gateways to CGI programs fold them. */
const HEADERS: ReadonlyMap<string, Override['term']> = new Map([
  ['xhttpmethodoverride', 'method'],
  ['xhttpmethod', 'method'],
  ['xmethodoverride', 'method'],
  ['httpmethodoverride', 'method'],
  ['methodoverride', 'method'],
  ['xmethod', 'method'],
  ['xrequestmethod', 'method'],
  ['requestmethod', 'method'],
  ['xoriginalmethod', 'method'],
  ['xforwardedmethod', 'method'],
  ['xoriginalurl', 'path'],
  ['xoriginaluri', 'path'],
  ['xoriginalpath', 'path'],
  ['xrewriteurl', 'path'],
  ['xrewriteuri', 'path'],
  ['xrequesturi', 'path'],
  ['requesturi', 'path'],
  ['xoverrideurl', 'path'],
  ['xforwardeduri', 'path'],
  ['xforwardedurl', 'path'],
  ['xforwardedpath', 'path'],
  ['xforwardedprefix', 'path'],
  ['xenvoyoriginalpath', 'path'],
  ['xscriptname', 'path'],
  ['scriptname', 'path'],
  ['pathinfo', 'path'],
  ['xpathinfo', 'path'],
]);
/** Parameters of a query or a form that name a method. */
const PARAMETERS: ReadonlySet<string> = new Set([
  '_method',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
]);
/** The name of a part of a multipart form; the quotes may be missing. */
const PART_NAME = /\bname\*?\s*=\s*(?:utf-8'[^']*')?"?([^";\r\n]+)/gi;
const FORM = /^\s*(?:application\/x-www-form-urlencoded|multipart\/)/i;

/** The terms that a server may take from elsewhere than the request line, with the path as it was sent. */
export function findOverrides(fields: readonly Field[], path: string): readonly Override[] {
  const found = fields.flatMap(({ name, rawName }): Override[] => {
    const term = HEADERS.get(name.replace(/[^a-z0-9]/g, ''));
    return term === undefined ? [] : [{ term, by: `header ${rawName}` }];
  });
  const query = path.indexOf('?');
  const parameter = query < 0 ? undefined : parameterIn(path.slice(query + 1));
  return parameter === undefined ? found : [...found, overrideBy('query parameter', parameter)];
}

function overrideBy(kind: string, parameter: string): Override {
  return { term: 'method', by: `${kind} ${parameter}` };
}

function parameterIn(text: string): string | undefined {
  return text
    .split(/[&;]/)
    .map((pair) => namePart(pair))
    .find((name) => PARAMETERS.has(name));
}

/** The name of a pair as a lenient server reads it: decoded, without blanks, the base of `name[]`, in lower case. */
function namePart(pair: string): string {
  const [raw = ''] = pair.split('=', 1);
  const decoded = raw.replace(/\+/g, ' ').replace(/%([0-9a-f]{2})/gi, (_, hex) => byte(hex));
  return decoded.replace(/\[.*$/s, '').trim().toLowerCase();
}

function byte(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/** Looks for the same parameters in the body of a form, piece by piece; null for another body. */
export function newFormWatch(fields: readonly Field[]): ((piece: Uint8Array) => Override | null) | null {
  const type = fields.find(({ name }) => name === 'content-type')?.value ?? '';
  if (!FORM.test(type)) return null;
  const form = /^\s*multipart\//i.test(type) ? MULTIPART : URL_ENCODED;
  let kept = '';
  return (piece) => {
    const text = kept + Buffer.from(piece).toString('latin1');
    kept = form.keep(text);
    const parameter = form.find(text);
    return parameter === undefined ? null : overrideBy('form field', parameter);
  };
}

/** How the names of a form are found, and what is kept of a piece because a name may continue in the next. */
type FormSyntax = {
  readonly find: (text: string) => string | undefined;
  readonly keep: (text: string) => string;
};

/** More than the longest name with every character encoded, and what surrounds it. */
const LONGEST_NAME = 256;

const URL_ENCODED: FormSyntax = {
  // A name is complete with its "=".
  find: (text) => parameterIn(text.replace(/[^&;=]*$/, '')),
  keep: (text) => {
    const last = text.slice(Math.max(text.lastIndexOf('&'), text.lastIndexOf(';')) + 1);
    // The rest of a value, or of a name that is too long to be one of ours, has no name.
    return last.includes('=') || last.length > LONGEST_NAME ? '=' : last;
  },
};

const MULTIPART: FormSyntax = {
  find: (text) =>
    Array.from(text.matchAll(PART_NAME), ([, name = '']) => namePart(name)).find((name) =>
      PARAMETERS.has(name),
    ),
  keep: (text) => text.slice(-LONGEST_NAME),
};
