import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../core/caller.ts';
import { quote } from '../../core/hostile-text.ts';
import type { Json } from '../../core/json.ts';
import { parseStrict, type StrictLimits } from '../../core/strict-json.ts';
import type { Binding } from './binding.ts';
import { RequestRefused } from './problem.ts';

/*
 * Parses requests. Node has bounded the size of the header block and refused ambiguous framing (a length twice, a
 * length beside chunks); here a header or parameter that may occur once must occur once, and nothing malformed is
 * repaired. What the operation does not name is refused; what it names is checked against its row afterwards.
 */

type Incoming = { readonly request: IncomingMessage; readonly response: ServerResponse };

/** Headers by which a request is judged: with two of one kind, two readers would see two requests. */
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

/** Boundary: refuses duplicate headers for length, host or credential, and any transfer coding but chunked. */
export function requirePlain({ rawHeaders, headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding'] ?? 'chunked';
  if (coding.toLowerCase() !== 'chunked')
    throw wrong(
      `Cannot read the request: its transfer-encoding is ${quote(coding)}, expected chunked or none`,
    );
  let seen: Set<string> | null = null;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase();
    if (!ONCE.has(name)) continue;
    if (seen?.has(name) === true) throw wrong(`Cannot read the request: it has the header ${name} twice`);
    seen ??= new Set();
    seen.add(name);
  }
}

type Target = { readonly path: string; readonly query: string };

/** The path and the query as they were sent; a target of another form is for a proxy, which this is not. */
export function targetOf({ url = '' }: IncomingMessage): Target {
  // Boundary: nothing is resolved or decoded here, so that what is judged is what is routed.
  if (!/^\/[!-~]*$/.test(url)) throw wrong('Cannot read the request: its target is not a path');
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** Whether bytes may follow the header block. */
export function hasBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && length !== '0';
}

type InputParts = {
  readonly binding: Binding;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
};

/** The input of an operation, gathered from where its binding says; throws at the first part that is malformed. */
export async function readInput(
  incoming: Incoming,
  { binding, params, query }: InputParts,
  limits: StrictLimits,
): Promise<Readonly<Record<string, unknown>>> {
  const named = readQuery(binding, query);
  const body = await readOperationBody(incoming, binding, limits);
  return { ...body, ...named, ...readHeaders(incoming.request, binding), ...params };
}

const BAD_ESCAPE = /%(?![0-9a-fA-F]{2})/;

/** The query as names and values, each once; bad spellings are refused, not repaired. */
function readQuery({ query: known }: Binding, raw: string): Readonly<Record<string, string>> {
  const query: Record<string, string> = {};
  if (raw === '') return query;
  const isMalformed = BAD_ESCAPE.test(raw);
  for (const [name, value] of new URLSearchParams(raw)) {
    if (isMalformed || `${name}${value}`.includes('\ufffd'))
      throw wrong('Cannot read the query: it is not UTF-8 in percent-encoding');
    // Boundary: a filter with a typing error in its name would silently let everything through.
    if (!known.has(name))
      throw wrong(`Cannot read the query: the parameter ${quote(name)} is not known here`);
    // Boundary: of two values each reader could take another.
    if (Object.hasOwn(query, name)) throw wrong(`Cannot read the query: it has ${quote(name)} twice`);
    query[name] = value;
  }
  return query;
}

const EVENTS = 'text/event-stream';

function readHeaders({ headers }: IncomingMessage, { operation }: Binding): Record<string, unknown> {
  const { headers: named } = operation.http;
  const read: Record<string, unknown> = {};
  if (named === undefined) return read;
  for (const [name, { member }] of Object.entries(named)) {
    const value = headers[name];
    const text = Array.isArray(value) ? value.join(', ') : value;
    if (name === 'accept') read[member] = acceptsEvents(text);
    else if (text !== undefined) read[member] = text;
  }
  return read;
}

/** Whether events are requested by name; `*` means a document. */
export function acceptsEvents(accept = ''): boolean {
  return accept.split(',').some((part) => part.split(';', 1)[0]?.trim().toLowerCase() === EVENTS);
}

async function readOperationBody(
  incoming: Incoming,
  { operation, body: members }: Binding,
  limits: StrictLimits,
): Promise<Readonly<Record<string, unknown>>> {
  const isGiven = hasBody(incoming.request);
  const { bytes } = operation.http;
  if (bytes !== undefined) {
    if (isGiven) requireType(incoming.request, 'application/octet-stream');
    return { [bytes.member]: isGiven ? await readBody(incoming, bytes.maxBytes) : Buffer.alloc(0) };
  }
  if (members === null) {
    if (isGiven) throw wrong('Cannot read the body: the operation takes none');
    return {};
  }
  if (!isGiven) throw wrong('Cannot read the body: it is missing, expected a JSON object');
  requireType(incoming.request, 'application/json');
  return membersOf(readJson(await readBody(incoming, limits.maxBytes), limits), members);
}

function readJson(bytes: Uint8Array, limits: StrictLimits): Json {
  const read = parseStrict(bytes, limits);
  if (read.ok) return read.value;
  const { is, expected, position } = read.problem;
  const where = `line ${position.line}, column ${position.column}`;
  throw wrong(`Cannot read the body: it is not strict JSON at ${where}: ${is}, expected ${expected}`);
}

function membersOf(value: Json, members: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw wrong('Cannot read the body: it is not a JSON object, expected one');
  for (const name of Object.keys(value)) {
    // Boundary: a body says nothing about what is in the path, the query or a header.
    if (!members.has(name)) throw wrong(`Cannot read the body: the member ${quote(name)} is not known here`);
  }
  return value as Readonly<Record<string, unknown>>;
}

/** Boundary: only a body declared as this type is read as such; an HTML form can declare neither. */
function requireType({ headers }: IncomingMessage, expected: string): void {
  const type = headers['content-type'];
  // The media type alone, in lower case: `Application/JSON; charset=utf-8` is `application/json`.
  if ((type ?? '').split(';', 1)[0]?.trim().toLowerCase() !== expected)
    throw unsupported(`the body is ${type === undefined ? 'of no type' : quote(type)}`, expected);
  const encoding = headers['content-encoding'] ?? 'identity';
  // Boundary: compressed data can be a thousand times larger than it looks.
  if (encoding !== 'identity') throw unsupported(`the body is encoded as ${quote(encoding)}`, expected);
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(type ?? '')?.[1] ?? 'utf-8';
  if (charset.toLowerCase() !== 'utf-8')
    throw unsupported(`the body is in the character set ${quote(charset)}`, `${expected} in UTF-8`);
}

/** All bytes of the body; more than `maxBytes` are refused as soon as that is known, and not read. */
function readBody({ request, response }: Incoming, maxBytes: number): Promise<Buffer> {
  // Boundary: a body that is declared too large is not read at all.
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      // Boundary: a chunked body does not declare its size.
      if (bytes > maxBytes) {
        request.removeAllListeners('data');
        request.pause();
        reject(tooLarge(maxBytes));
      } else chunks.push(chunk);
    });
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    // The sender is gone: no one will see the answer.
    request.once('error', () => reject(new RequestRefused('door/timed-out', CUT_OFF)));
  });
}

const CUT_OFF = 'Cannot read the body: the connection closed before its end';

function wrong(message: string): RequestRefused {
  return new RequestRefused('door/wrong-usage', message);
}

function tooLarge(maxBytes: number): RequestRefused {
  return new RequestRefused(
    'door/too-large',
    `Cannot read the body: it is too large, expected at most ${maxBytes} bytes`,
  );
}

function unsupported(is: string, expected: string): RequestRefused {
  return new RequestRefused('door/unsupported-media', `Cannot read the body: ${is}, expected ${expected}`);
}

/** The MCP door, which takes requests of the web platform. */
export type McpFetch = (request: Request, caller: Caller) => Promise<Response>;

export const MCP_METHODS = ['DELETE', 'GET', 'POST'] as const;

type McpTerms = { readonly url: string; readonly maxBytes: number; readonly signal: AbortSignal };

/** The request as the MCP door takes it; its body was read within the limit and is JSON by its type. */
export async function makeMcpRequest(
  incoming: Incoming,
  { url, maxBytes, signal }: McpTerms,
): Promise<Request> {
  const { request } = incoming;
  const { method = 'GET', rawHeaders } = request;
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  if (!hasBody(request)) return new Request(url, { method, headers, signal });
  requireType(request, 'application/json');
  const body = new Uint8Array(await readBody(incoming, maxBytes));
  return new Request(url, { method, headers, signal, ...(method === 'POST' ? { body } : {}) });
}
