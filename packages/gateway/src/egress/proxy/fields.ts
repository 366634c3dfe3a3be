import { quote } from '../../core/hostile-text.ts';
import { found, type Read, turnDown } from './refusal.ts';

/** A header. The name is in lower case, to be compared; the raw one is as it was sent. */
export type Field = { readonly name: string; readonly rawName: string; readonly value: string };

/** Who sent a head: what is taken from a target is wider, because a run cannot do anything about it. */
export type Side = 'request' | 'response';

type SideTerms = { readonly status: 400 | 502; readonly name: RegExp; readonly value: RegExp };

const SIDES: Readonly<Record<Side, SideTerms>> = {
  request: { status: 400, name: /^[A-Za-z0-9_-]+$/, value: /^[\t -~]*$/ },
  response: { status: 502, name: /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, value: /^[\t -~\x80-\xff]*$/ },
};
const TOKENS = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/;

/** Headers between two neighbours, which are never passed on (RFC 9110), and the one that only this proxy may send. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'x-palisade-egress',
]);
/** Headers that are made anew, so that a body has one length and a request one host. */
const MADE_ANEW: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding']);

/** Reads the lines after the first. */
export function parseFields(lines: readonly string[], side: Side): Read<readonly Field[]> {
  const fields: Field[] = [];
  for (const line of lines) {
    // Boundary: a folded line is two headers to some and one to others.
    if (/^[ \t]/.test(line)) return refuseField(side, line, 'it continues the line above');
    const colon = line.indexOf(':');
    if (colon < 0) return refuseField(side, line, 'it has no ":"');
    const rawName = line.slice(0, colon);
    const value = trimBlanks(line.slice(colon + 1));
    if (!SIDES[side].name.test(rawName)) return refuseField(side, line, 'its name has a sign that none has');
    if (!SIDES[side].value.test(value)) return refuseField(side, line, 'its value is not ASCII');
    const name = rawName.toLowerCase();
    // Boundary: "Content_Length" is "Content-Length" to a server that hands it to a CGI program.
    if (isMasked(name)) return refuseField(side, line, 'it looks like another header');
    fields.push({ name, rawName, value });
  }
  return found(fields);
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

/** Boundary: whatever is called after proxies is for this one, the credential of the run above all. */
function isHopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name) || name.startsWith('proxy-');
}

export function valuesOf(fields: readonly Field[], name: string): readonly string[] {
  return fields.filter((field) => field.name === name).map(({ value }) => value);
}

/** The values of a header that is a list of words, in lower case. */
export function tokensOf(fields: readonly Field[], name: string, side: Side): Read<readonly string[]> {
  const tokens: string[] = [];
  for (const value of valuesOf(fields, name)) {
    if (value === '') continue;
    if (!TOKENS.test(value)) return refuseField(side, `${name}: ${value}`, 'it is no list of words');
    tokens.push(...value.toLowerCase().split(',').map(trimBlanks));
  }
  return found(tokens);
}

/** What is passed on of a head: neither what is meant for this proxy alone nor what it makes anew. */
export function endToEnd(fields: readonly Field[], side: Side): Read<readonly Field[]> {
  const listed = tokensOf(fields, 'connection', side);
  if (!listed.ok) return listed;
  const dropped = new Set(listed.value);
  return found(fields.filter(({ name }) => !isHopByHop(name) && !MADE_ANEW.has(name) && !dropped.has(name)));
}

export function formatFields(fields: readonly Field[]): string {
  return fields.map(({ rawName, value }) => `${rawName}: ${value}\r\n`).join('');
}

function refuseField(side: Side, line: string, is: string) {
  return turnDown(SIDES[side].status, `Cannot use header ${quote(line)}: ${is}, expected "Name: value"`);
}
