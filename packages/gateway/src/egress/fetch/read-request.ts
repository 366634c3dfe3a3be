import { quote } from '../../core/hostile-text.ts';
import { sentenceOf } from '../../core/result.ts';
import type { HttpUrl } from '../http-url.ts';
import { endToEnd, type Field, parseFields, valuesOf } from '../proxy/fields.ts';
import { PROXY_BOUNDS } from '../proxy/proxy-limits.ts';
import { parseRequestLine } from '../proxy/request-line.ts';
import type { FetchLimits } from './fetch-limits.ts';
import { type Failure, fail, give, type HeaderPair, type Result } from './outcome.ts';
import { formatUrl, readUrl } from './url.ts';

export type FetchRequest = {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
};

/** A request that was read, with placeholders where its secrets will be. */
export type Errand = {
  readonly url: HttpUrl;
  readonly method: string;
  readonly fields: readonly Field[];
  /** What is said of encodings; nothing of it comes from the caller but the wish for none. */
  readonly encodings: string;
  readonly body: Uint8Array | null;
};

const ENCODINGS = 'gzip, deflate, br';
/** Methods that a server never expects a body with; some take one for the next request. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Headers of which a request has one at most. With two, one program takes the first and another the last. */
const SINGLE: ReadonlySet<string> = new Set([
  ...['accept-encoding', 'authorization', 'content-disposition', 'content-encoding', 'content-language'],
  ...['content-location', 'content-md5', 'content-range', 'content-type', 'cookie', 'date', 'from'],
  ...['if-modified-since', 'if-range', 'if-unmodified-since', 'max-forwards', 'origin', 'range', 'referer'],
  ...['user-agent'],
]);

/** Reads what somebody wants to be fetched. What is given can be sent as it is to any target. */
export function readRequest(raw: FetchRequest, limits: FetchLimits): Result<Errand> {
  const tooLarge = refuseSize(raw, limits);
  if (tooLarge !== null) return tooLarge;
  const url = readUrl(raw.url);
  if (!url.ok) return fail('invalid', sentenceOf(url.problem));
  const line = parseRequestLine(`${raw.method} ${formatUrl(url.value)} HTTP/1.1`);
  if (!line.ok) return fail('invalid', line.why);
  const { method } = line.value;
  if (method === 'CONNECT') return refuse('method "CONNECT"', 'it opens a tunnel', 'a request');
  if (BODILESS.has(method) && raw.body !== null && raw.body.length > 0)
    return refuse('body', `the method is ${quote(method)}`, 'none with it');
  const fields = readFields(raw.headers);
  if (!fields.ok) return fields;
  return give({
    url: url.value,
    method,
    fields: fields.value.filter(({ name }) => name !== 'accept-encoding'),
    encodings: encodingsFor(fields.value),
    // Boundary: a guest may change its memory meanwhile; what was measured is what is sent, on every hop.
    body: raw.body === null || BODILESS.has(method) ? null : new Uint8Array(raw.body),
  });
}

/** Boundary: what is too long is not even read. */
function refuseSize({ url, headers, body }: FetchRequest, limits: FetchLimits): Failure | null {
  const headBytes = headers.reduce((sum, [name, value]) => sum + name.length + value.length, url.length);
  if (headBytes > limits.requestHeaderBytes || headers.length > PROXY_BOUNDS.fields)
    return tooLongHead(limits);
  if (body === null || body.length <= limits.requestBytes) return null;
  const is = `its body has ${body.length} bytes`;
  return fail('too-large', `Cannot send request: ${is}, expected at most ${limits.requestBytes}`);
}

export function tooLongHead({ requestHeaderBytes: most }: FetchLimits): Failure {
  return fail('too-large', `Cannot send request: its head is too long, expected at most ${most} bytes`);
}

function readFields(headers: readonly HeaderPair[]): Result<readonly Field[]> {
  const fields: Field[] = [];
  for (const [name, value] of headers) {
    const [field] = readField(name, value);
    // Boundary: neither a name nor a value can end its line, nor a name reach into its value.
    if (field === undefined) {
      const expected = 'a name of letters, digits and "-", and a value of printable ASCII';
      return refuse(`header ${quote(name)}`, 'its name or its value has another sign', expected);
    }
    if (SINGLE.has(field.name) && fields.some((other) => other.name === field.name))
      return refuse(`header ${quote(name)}`, 'it is there more than once', 'one');
    fields.push(field);
  }
  // Boundary: where a message ends, which host it is for and who is between is said by the gateway alone.
  const ours = fields.find(isOurs);
  if (ours === undefined) return give(fields);
  return refuse(`header ${quote(ours.rawName)}`, 'it is for the gateway to send', 'a request without it');
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

/** A part of an encoded body cannot be decoded, so who asks for a part gets it as it is. */
function encodingsFor(fields: readonly Field[]): string {
  const [asked = ''] = valuesOf(fields, 'accept-encoding');
  return asked.toLowerCase() === 'identity' || valuesOf(fields, 'range').length > 0 ? 'identity' : ENCODINGS;
}

function refuse(what: string, is: string, expected: string): Failure {
  return fail('invalid', `Cannot use ${what}: ${is}, expected ${expected}`);
}
