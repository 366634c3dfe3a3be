import type { IncomingMessage } from 'node:http';
import { TurnedAway } from './problem.ts';

/*
 * What is read of a request before anybody knows who sent it. Node has bounded the size of the header block and refused
 * ambiguous framing (a length twice, a length beside chunks); here what a request says once it must say once.
 */

/** Headers by which a request is judged: two of one kind would be two requests for two readers. */
const ONCE = new Set([
  'host',
  'origin',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'palisade-as',
  'idempotency-key',
  'traceparent',
]);

/** Boundary: refuses a request that says twice what it is, for whom, or by whom, or is coded as nobody asked for. */
export function requirePlain({ rawHeaders, headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding'] ?? 'chunked';
  if (coding.toLowerCase() !== 'chunked')
    throw new TurnedAway('door/wrong-usage', 'Cannot read the request: it is coded, expected chunks at most');
  let seen: Set<string> | null = null;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    if (!ONCE.has(name)) continue;
    if (seen?.has(name) === true)
      throw new TurnedAway(
        'door/wrong-usage',
        `Cannot read the request: the header ${name} stands in it twice`,
      );
    seen ??= new Set();
    seen.add(name);
  }
}

export type Target = { readonly path: string; readonly query: string };

/** The path and the query as they were sent; a target of another form is for a proxy, which this is not. */
export function targetOf({ url = '' }: IncomingMessage): Target {
  // Boundary: nothing is resolved or decoded here, so that what is judged is what is routed.
  if (!/^\/[!-~]*$/.test(url))
    throw new TurnedAway('door/wrong-usage', 'Cannot read the request: its target is no path');
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

const BAD_ESCAPE = /%(?![0-9a-fA-F]{2})/;

/** The query as names and values, each once; bad spellings are refused, not repaired. */
export function queryOf(raw: string): Readonly<Record<string, string>> {
  const query: Record<string, string> = {};
  if (raw === '') return query;
  const isMalformed = BAD_ESCAPE.test(raw);
  for (const [name, value] of new URLSearchParams(raw)) {
    if (isMalformed || `${name}${value}`.includes('\ufffd'))
      throw new TurnedAway('door/wrong-usage', 'Cannot read the query: it is not UTF-8 in percent-encoding');
    // Boundary: of two values each reader could take another.
    if (Object.hasOwn(query, name) || name === '__proto__')
      throw new TurnedAway(
        'door/wrong-usage',
        `Cannot read the query: ${JSON.stringify(name)} stands in it twice`,
      );
    query[name] = value;
  }
  return query;
}

/** Tells whether bytes may follow the header block. */
export function hasBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && length !== '0';
}
