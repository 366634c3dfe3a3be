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
  ['xreplacedpath', 'path'],
  ['xmatchedpath', 'path'],
  ['xinvokepath', 'path'],
  ['xmiddlewarerewrite', 'path'],
  ['xmsoriginalurl', 'path'],
  ['xwawsunencodedurl', 'path'],
  ['xscriptname', 'path'],
  ['scriptname', 'path'],
  ['pathinfo', 'path'],
  ['xpathinfo', 'path'],
]);
/** Parameters of a query or a form that name a method. */
const PARAMETERS: ReadonlySet<string> = new Set([
  '_method',
  '_httpmethod',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
]);
/** The name of a part of a multipart form, perhaps in sections (`name*0`); the quotes may be missing. */
const PART_NAME = /\bname(\*\d+)?\*?\s*=\s*(?:utf-8'[^']*')?"?((?:\\.|[^";\r\n\\])+)/gi;

/** The terms that a server may take from elsewhere than the request line, with the path as it was sent. */
export function findOverrides(fields: readonly Field[], path: string): readonly Override[] {
  const found = fields.flatMap(({ name, rawName }): Override[] => {
    const term = HEADERS.get(name.replace(/[^a-z0-9]/g, ''));
    return term === undefined ? [] : [{ term, by: `header ${rawName}` }];
  });
  const query = path.indexOf('?');
  const parameter = query < 0 ? undefined : parameterIn(path.slice(query + 1));
  if (parameter !== undefined) found.push(overrideBy('query parameter', parameter));
  const unreadable = unreadableForm(fields);
  if (unreadable !== null) found.push({ term: 'method', by: `header ${unreadable}` });
  return found;
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

/**
 * The name of a pair as a lenient server reads it: decoded, without blanks, the base of `name[]`, in lower case, with the
 * characters that PHP replaces by underscores.
 */
function namePart(pair: string): string {
  const [raw = ''] = pair.split('=', 1);
  const decoded = raw.replace(/\+/g, ' ').replace(/%([0-9a-f]{2})/gi, (_, hex) => byte(hex));
  const base = decoded.trim().replace(/(?!^)\[.*$/s, '');
  return base.replace(/[ .[]/g, '_').toLowerCase();
}

function byte(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

const URL_ENCODED_TYPE = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i;
const MULTIPART_TYPE = /^\s*multipart\//i;
/** One media type, whose parameters have no comma outside of quotes. */
const ONE_TYPE = /^\s*[\w!#$&^.+-]+\/[\w!#$&^.+-]+\s*(?:;(?:"[^"]*"|[^",])*)?$/;
const PLAIN_CHARSET = /^(?:utf-8|us-ascii|iso-8859-1)$/i;

/** The forms that a server could take a body for: none where its one type is that of something else. */
function formsOf(fields: readonly Field[]): readonly FormSyntax[] {
  const types = fields.filter(({ name }) => name === 'content-type');
  const [type = ''] = types.map(({ value }) => value);
  const isDropped = fields.some(
    ({ name, value }) => name === 'connection' && /(?:^|,)\s*content-type\s*(?:,|$)/i.test(value),
  );
  // Boundary: without exactly one type a server guesses, or takes another one than we would.
  if (types.length !== 1 || isDropped || !ONE_TYPE.test(type)) return [URL_ENCODED, MULTIPART];
  if (URL_ENCODED_TYPE.test(type)) return [URL_ENCODED];
  return MULTIPART_TYPE.test(type) ? [MULTIPART] : [];
}

/** The header that makes the field names of a form unreadable here; null if they are readable or the body is not a form. */
function unreadableForm(fields: readonly Field[]): string | null {
  if (formsOf(fields).length === 0) return null;
  const unreadable = fields.find(({ name, value }) => {
    if (name === 'content-encoding') return !/^\s*(?:identity)?\s*$/i.test(value);
    const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(value)?.[1];
    return name === 'content-type' && charset !== undefined && !PLAIN_CHARSET.test(charset);
  });
  return unreadable?.rawName ?? null;
}

/** Looks for the same parameters in the body of a form, piece by piece; null for another body. */
export function newFormWatch(fields: readonly Field[]): ((piece: Uint8Array) => Override | null) | null {
  const forms = formsOf(fields).map((syntax) => ({ syntax, kept: '' }));
  if (forms.length === 0) return null;
  return (piece) => {
    const bytes = Buffer.from(piece).toString('latin1');
    for (const form of forms) {
      const text = form.kept + bytes;
      form.kept = form.syntax.keep(text);
      const parameter = form.syntax.find(text);
      if (parameter !== undefined) return overrideBy('form field', parameter);
    }
    return null;
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
  find: (text) => {
    for (const [, section, name = ''] of text.matchAll(PART_NAME)) {
      // Boundary: servers differ on sections and on encoded words, so such a name could be any.
      if (section !== undefined || name.startsWith('=?')) return name;
      const parameter = [name, name.replace(/\\(.)/g, '$1')]
        .map(namePart)
        .find((each) => PARAMETERS.has(each));
      if (parameter !== undefined) return parameter;
    }
    return undefined;
  },
  keep: (text) => text.slice(-LONGEST_NAME),
};
