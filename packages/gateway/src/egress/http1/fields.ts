import { quote } from '../../core/hostile-text.ts';
import { accept, type Problem, type Result, reject } from '../../core/result.ts';

/*
 * The HTTP/1 codec of this folder: bytes to heads, fields and bodies, and back. The input is sent by hostile clients and
 * targets, in any pieces. Nothing is repaired: anything that two programs could read differently is a problem, which
 * carries the status that a proxy answers it with. Nothing is decided here and nothing is connected.
 */

/** Which message is read: targets are read more leniently, because a run cannot change what they send. */
export type MessageSide = 'request' | 'response';

/** What is wrong with a message, and the status with which a proxy answers it. */
export type HttpProblem = Problem & { readonly status: number; readonly isTooLong?: true };

export type HttpResult<T> = Result<T, HttpProblem>;

/** A header. The name is in lower case, to be compared; the raw one is as it was sent. */
export type Field = { readonly name: string; readonly rawName: string; readonly value: string };

/** Where a body ends. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  /** With the connection; only in a response. */
  | { readonly kind: 'close' };

type SideRules = { readonly status: 400 | 502; readonly name: RegExp; readonly value: RegExp };

export const SIDES: Readonly<Record<MessageSide, SideRules>> = {
  request: { status: 400, name: /^[A-Za-z0-9_-]+$/, value: /^[\t -~]*$/ },
  response: { status: 502, name: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, value: /^[\t -~\x80-\xff]*$/ },
};
const TOKENS = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/;
/** A Content-Length without a sign or a leading zero, and exact as a number. */
const LENGTH = /^(?:0|[1-9][0-9]{0,14})$/;

/** Headers between two neighbours, which are never passed on (RFC 9110), and the one that only our proxy may send. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'x-palisade-egress',
]);
/** Headers that are generated here, so that a body has one length and a request one host. */
const MADE_ANEW: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding']);

/** Reads the lines after the first. */
export function parseFields(lines: readonly string[], side: MessageSide): HttpResult<readonly Field[]> {
  const fields: Field[] = [];
  for (const line of lines) {
    // Boundary: a folded line is two headers to some parsers and one to others.
    if (/^[ \t]/.test(line)) return rejectField(side, line, 'it continues the line above');
    const colon = line.indexOf(':');
    if (colon < 0) return rejectField(side, line, 'it has no ":"');
    const rawName = line.slice(0, colon);
    const value = trimBlanks(line.slice(colon + 1));
    if (!SIDES[side].name.test(rawName))
      return rejectField(side, line, 'its name has a character that is not allowed there');
    if (!SIDES[side].value.test(value)) return rejectField(side, line, 'its value is not ASCII');
    const name = rawName.toLowerCase();
    // Boundary: "Content_Length" is "Content-Length" to a server that hands it to a CGI program.
    if (isMasked(name)) return rejectField(side, line, 'it looks like another header');
    fields.push({ name, rawName, value });
  }
  return accept(fields);
}

/** Boundary: a pattern for both ends would take seconds for a long run of blanks in the middle. */
function trimBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text[end - 1])) end -= 1;
  return text.slice(0, end).replace(/^[ \t]+/, '');
}

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}

function isMasked(name: string): boolean {
  const plain = name.replace(/[^a-z0-9]/g, '-');
  return plain !== name && (isHopByHop(plain) || MADE_ANEW.has(plain));
}

/** Boundary: every `Proxy-` header is for ours, the credential of the run above all. */
function isHopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name) || name.startsWith('proxy-');
}

export function valuesOf(fields: readonly Field[], name: string): readonly string[] {
  return fields.filter((field) => field.name === name).map(({ value }) => value);
}

/** The values of a header that is a list of tokens, in lower case. */
export function tokensOf(
  fields: readonly Field[],
  name: string,
  side: MessageSide,
): HttpResult<readonly string[]> {
  const tokens: string[] = [];
  for (const value of valuesOf(fields, name)) {
    if (value === '') continue;
    if (!TOKENS.test(value)) return rejectField(side, `${name}: ${value}`, 'it is not a list of tokens');
    tokens.push(...value.toLowerCase().split(',').map(trimBlanks));
  }
  return accept(tokens);
}

/** The headers that are passed on: neither those of this connection alone nor those generated here. */
export function endToEnd(fields: readonly Field[], side: MessageSide): HttpResult<readonly Field[]> {
  const listed = tokensOf(fields, 'connection', side);
  if (!listed.ok) return listed;
  const dropped = new Set(listed.value);
  return accept(fields.filter(({ name }) => !isHopByHop(name) && !MADE_ANEW.has(name) && !dropped.has(name)));
}

export function formatFields(fields: readonly Field[]): string {
  return fields.map(({ rawName, value }) => `${rawName}: ${value}\r\n`).join('');
}

/**
 * Finds the one position where a body ends, or refuses. Boundary: if two programs see two ends, the one that sees the
 * earlier end finds a smuggled request.
 */
export function framingOf(fields: readonly Field[], minor: 0 | 1, side: MessageSide): HttpResult<Framing> {
  const lengths = valuesOf(fields, 'content-length');
  const codings = valuesOf(fields, 'transfer-encoding');
  const [length] = lengths;
  const [coding] = codings;
  if (lengths.length > 1) return rejectBody(side, 'it has more than one Content-Length', 'one');
  if (coding !== undefined) {
    if (length !== undefined)
      return rejectBody(side, 'it has a Content-Length and a Transfer-Encoding', 'one of them');
    if (minor === 0) return rejectBody(side, 'it has a Transfer-Encoding in HTTP/1.0', 'HTTP/1.1');
    if (codings.length > 1 || coding.toLowerCase() !== 'chunked')
      return rejectBody(side, `its Transfer-Encoding is ${quote(codings.join(', '))}`, '"chunked"');
    return accept({ kind: 'chunked' });
  }
  if (length === undefined) return accept({ kind: side === 'request' ? 'none' : 'close' });
  if (!LENGTH.test(length)) return rejectBody(side, `its Content-Length is ${quote(length)}`, 'a number');
  return accept({ kind: 'length', bytes: Number(length) });
}

/** The header that says where the body ends when it is passed on. */
export function formatFraming(framing: Framing): string {
  if (framing.kind === 'length') return `Content-Length: ${framing.bytes}\r\n`;
  return framing.kind === 'chunked' ? 'Transfer-Encoding: chunked\r\n' : '';
}

function rejectField(side: MessageSide, line: string, is: string) {
  const { status } = SIDES[side];
  return reject({ status, subject: `header ${quote(line)}`, is, expected: '"Name: value"' });
}

export function rejectBody(side: MessageSide, is: string, expected: string) {
  return reject({ status: SIDES[side].status, subject: `body of ${side}`, is, expected });
}
