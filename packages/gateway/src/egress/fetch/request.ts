import { quote } from '../../core/hostile-text.ts';
import { accept, sentenceOf } from '../../core/result.ts';
import { formatUrl, type HttpUrl, readUrl } from '../authority.ts';
import { endToEnd, type Field, parseFields, valuesOf } from '../http1/fields.ts';
import { formatRequestHead, parseRequestLine } from '../http1/request.ts';
import { type FetchLimits, HTTP1_LIMITS } from '../limits.ts';
import { type Fetched, type FetchFailed, fail, type HeaderPair } from './outcome.ts';
import type { RequestMessage } from './response.ts';

export type FetchRequest = {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
};

/** A request that was read, with placeholders where its secrets will be. */
export type PreparedRequest = {
  readonly url: HttpUrl;
  readonly method: string;
  readonly fields: readonly Field[];
  /** The Accept-Encoding header; the caller can only request no encoding. */
  readonly encodings: string;
  readonly body: Uint8Array | null;
};

const ENCODINGS = 'gzip, deflate, br';
/** Methods that a server never expects a body with; some take one for the next request. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Methods for which a server waits for a body, so that an empty one is declared. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
/** Headers of which a request has one at most. With two, one program takes the first and another the last. */
const SINGLE: ReadonlySet<string> = new Set(
  `accept-encoding authorization content-disposition content-encoding content-language content-location content-md5
   content-range content-type cookie date from if-modified-since if-range if-unmodified-since max-forwards origin range
   referer user-agent`.split(/\s+/),
);

/** Reads a request of a caller. The result can be sent as it is to any target. */
export function readRequest(raw: FetchRequest, limits: FetchLimits): Fetched<PreparedRequest> {
  const tooLarge = refuseSize(raw, limits);
  if (tooLarge !== null) return tooLarge;
  const url = readUrl(raw.url);
  if (!url.ok) return fail('invalid', sentenceOf(url.problem));
  const line = parseRequestLine(`${raw.method} ${formatUrl(url.value)} HTTP/1.1`);
  if (!line.ok) return fail('invalid', sentenceOf(line.problem));
  const { method } = line.value;
  if (method === 'CONNECT') return refuse('method "CONNECT"', 'it opens a tunnel', 'a request');
  if (BODILESS.has(method) && raw.body !== null && raw.body.length > 0)
    return refuse('body', `the method is ${quote(method)}`, 'none with it');
  const fields = readFields(raw.headers);
  if (!fields.ok) return fields;
  return accept({
    url: url.value,
    method,
    fields: fields.value.filter(({ name }) => name !== 'accept-encoding'),
    encodings: encodingsFor(fields.value),
    // Boundary: a guest may change its memory in the meantime; what was measured is what is sent, on every hop.
    body: raw.body === null || BODILESS.has(method) ? null : new Uint8Array(raw.body),
  });
}

/** Boundary: what is too long is not even read. */
function refuseSize({ url, headers, body }: FetchRequest, limits: FetchLimits): FetchFailed | null {
  const headBytes = headers.reduce((sum, [name, value]) => sum + name.length + value.length, url.length);
  if (headBytes > limits.requestHeaderBytes || headers.length > HTTP1_LIMITS.headLines)
    return tooLongHead(limits);
  if (body === null || body.length <= limits.requestBytes) return null;
  const is = `its body has ${body.length} bytes`;
  return fail('too-large', `Cannot send request: ${is}, expected at most ${limits.requestBytes}`);
}

export function tooLongHead({ requestHeaderBytes: most }: FetchLimits): FetchFailed {
  return fail('too-large', `Cannot send request: its head is too long, expected at most ${most} bytes`);
}

function readFields(headers: readonly HeaderPair[]): Fetched<readonly Field[]> {
  const fields: Field[] = [];
  for (const [name, value] of headers) {
    const [field] = readField(name, value);
    // Boundary: neither a name nor a value can end its line, nor a name extend into its value.
    if (field === undefined) {
      const expected = 'a name of letters, digits and "-", and a value of printable ASCII';
      return refuse(`header ${quote(name)}`, 'its name or its value has another character', expected);
    }
    if (SINGLE.has(field.name) && fields.some((other) => other.name === field.name))
      return refuse(`header ${quote(name)}`, 'it is there more than once', 'one');
    fields.push(field);
  }
  // Boundary: framing, host and hop-by-hop headers are set by the gateway alone.
  const ours = fields.find(isOurs);
  if (ours === undefined) return accept(fields);
  return refuse(`header ${quote(ours.rawName)}`, 'the gateway sets it', 'a request without it');
}

function isOurs(field: Field): boolean {
  if (field.name === 'expect' || field.name === 'connection') return true;
  const kept = endToEnd([field], 'request');
  return !kept.ok || kept.value.length === 0;
}

function readField(name: string, value: string): readonly Field[] {
  const fields = parseFields([`${name}:${value}`], 'request');
  return fields.ok ? fields.value.filter(({ rawName }) => rawName === name) : [];
}

/** A part of an encoded body cannot be decoded, so a caller that requests a part gets it as it is. */
function encodingsFor(fields: readonly Field[]): string {
  const [asked = ''] = valuesOf(fields, 'accept-encoding');
  return asked.toLowerCase() === 'identity' || valuesOf(fields, 'range').length > 0 ? 'identity' : ENCODINGS;
}

function refuse(what: string, is: string, expected: string): FetchFailed {
  return fail('invalid', `Cannot use ${what}: ${is}, expected ${expected}`);
}

/** What is sent for a request. The host, the length and the encodings are generated here and nowhere else. */
export function formatMessage({ url, method, fields, encodings, body }: PreparedRequest): RequestMessage {
  const hasLength = body !== null || WITH_BODY.has(method);
  const accepted: Field = { name: 'accept-encoding', rawName: 'Accept-Encoding', value: encodings };
  const head = formatRequestHead({
    method,
    egress: url,
    path: url.path,
    fields: [...fields, accepted],
    framing: hasLength ? { kind: 'length', bytes: body?.length ?? 0 } : { kind: 'none' },
  });
  return { method, head, body };
}
