/** The names in braces of a path. */
export type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** The values for the names in a path; nothing for one without names. */
export type ParamsOf<Path extends string> = { readonly [Name in NamesIn<Path>]: string };

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Reads the url of the gateway; throws for any other. */
export function parseBase(raw: string | URL): URL {
  const url = readUrl(String(raw));
  // Boundary: a credential in an address ends up in logs and histories, so it is refused.
  if (url.username !== '' || url.password !== '')
    throw new TypeError('Cannot use the url: it holds a user or password, expected the token as an option');
  if (url.search !== '' || url.hash !== '')
    throw new TypeError('Cannot use the url: it has a query or fragment, expected an origin and a path');
  return url;
}

function readUrl(raw: string): URL {
  const url = URL.canParse(raw) ? new URL(raw) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new TypeError(
    `Cannot use the url: it is ${url === null ? 'none' : `of "${url.protocol}"`}, expected http: or https:`,
  );
}

/** The whole address of an operation. Whatever a parameter contains, it stays one segment of the path. */
export function addressOf(
  base: URL,
  path: string,
  params: Readonly<Record<string, string>>,
  query: Query = {},
): URL {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeSegment(name, params[name]));
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/+$/, '')}${filled}`;
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
  }
  return url;
}

function encodeSegment(name: string, value: unknown): string {
  // Boundary: `.` and `..` survive encoding and would climb to another path.
  if (typeof value !== 'string' || value === '' || value === '.' || value === '..')
    throw new TypeError(`Cannot send request: the ${name} is ${JSON.stringify(value)}, expected a name`);
  try {
    return encodeURIComponent(value);
  } catch {
    throw new TypeError(`Cannot send request: the ${name} holds half a character, expected text`);
  }
}
