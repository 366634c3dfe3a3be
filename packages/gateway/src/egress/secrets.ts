import { escapePattern, spellingsOf } from '../core/redact.ts';
import type { Problem } from '../core/result.ts';
import { DEFAULT_PORTS, type Host, type Site } from './authority.ts';
import type { Field } from './http1/fields.ts';
import { EGRESS_LIMITS } from './limits.ts';

/*
 * Secrets that a run uses without knowing them. The run has a placeholder and writes it where the secret belongs; on
 * the way out, and only on the way to the host that the secret is bound to, the value replaces it. That happens in
 * header values alone: a path ends up in logs, and a body is arbitrary data. Everywhere else the placeholder is sent as
 * it is, and is worthless. Headers that come back are searched for the value, also in common encodings; bodies are not,
 * so a host that echoes its request in a body reveals the value to the run.
 */

/** A value, its placeholder, and where the value may go. */
export type BoundSecret = {
  readonly name: string;
  readonly placeholder: string;
  readonly value: string;
  readonly isFor: (host: Host, port: number) => boolean;
};

/** Headers with the secrets in them, to be sent and shown to no one else. */
export type Filled = {
  readonly fields: readonly Field[];
  readonly used: readonly string[];
  /** Whether the host may know a secret: its responses are then never quoted. */
  readonly isBound: boolean;
  /** Puts the placeholders back where a text of the host contains a secret. */
  readonly hide: (text: string) => string;
};

type Swap = { readonly from: string; readonly to: string; readonly name: string };

/** Boundary: nothing is quoted of a host that may know a secret, since a part of the secret might be in it. */
export const UNQUOTED_RESPONSE: Problem = {
  subject: 'response',
  is: 'it is malformed',
  expected: 'HTTP/1.1',
};
export const UNQUOTED_BODY: Problem = { ...UNQUOTED_RESPONSE, subject: 'body of response' };

/** Headers about the message or the way it took, which servers write into logs and repeat to others. */
const NEVER =
  /^(?:host|connection|origin|referer|user-agent|via|forwarded|(?:content|transfer|proxy|x-forwarded)-.*)$/;
const BASIC = /^(basic +)([A-Za-z0-9+/]+={0,2})$/i;

/** Fills in the secrets that are bound to the site of a request, and no others. */
export function fillIn(fields: readonly Field[], site: Site, secrets: readonly BoundSecret[]): Filled {
  // Boundary: a secret that belongs to another host is not searched for at all.
  const bound = secrets.filter(
    ({ placeholder, value, isFor }) => placeholder !== '' && value !== '' && isFor(site.host, site.port),
  );
  const swaps = bound.map(({ name, placeholder, value }) => ({ name, from: placeholder, to: onWire(value) }));
  if (swaps.length === 0) return { fields, used: [], isBound: false, hide: (text) => text };
  const most = isReadable(site) ? 0 : EGRESS_LIMITS.secretPlaceholders;
  const names = new Set<string>();
  let places = 0;
  const fill = newSwapper(swaps, ({ name }) => {
    places += 1;
    if (places <= most) names.add(name);
    return places <= most;
  });
  const encoded: Swap[] = [];
  const filled = fields.map((field) => {
    if (NEVER.test(field.name)) return field;
    const basic = field.name === 'authorization' ? fillBasic(field.value, fill) : null;
    if (basic === null) return { ...field, value: fill(field.value) };
    encoded.push(basic.swap);
    return { ...field, value: basic.value };
  });
  const back = [...swaps, ...encoded].map(({ from, to, name }) => ({ from: to, to: from, name }));
  return {
    fields: filled,
    used: bound.map(({ name }) => name).filter((name) => names.has(name)),
    isBound: true,
    hide: newHider(
      newSwapper(back, () => true),
      bound,
    ),
  };
}

/** Puts back what was filled in, and then finds the values in the other spellings that a host may give them. */
function newHider(putBack: Filled['hide'], bound: readonly BoundSecret[]): Filled['hide'] {
  let echoes: readonly (readonly [RegExp, string])[] | null = null;
  return (text) => {
    echoes ??= bound.map(({ value, placeholder }) => [echoPattern(value), placeholder]);
    return echoes.reduce((hidden, [pattern, to]) => hidden.replace(pattern, () => to), putBack(text));
  };
}

/** Shorter texts would be found by chance. */
const LEAST_SPELLING_CHARS = 8;

/** A host that wants to pass a value on can always find another form: this finds what hosts echo. */
function echoPattern(value: string): RegExp {
  const encoded = [...spellingsOf(value)].filter(({ length }) => length >= LEAST_SPELLING_CHARS);
  return new RegExp([onWire(value), ...encoded].map(escapePattern).join('|'), 'gi');
}

/**
 * Boundary: a secret for the port of TLS is meant to be encrypted. Unencrypted, everyone on the path can read it, so it
 * is sent that way only on a port that was named for it.
 */
function isReadable({ scheme, port }: Site): boolean {
  return scheme === 'http' && port === DEFAULT_PORTS.https;
}

/** Fills in decoded basic credentials; null when they contain no placeholder. */
function fillBasic(value: string, fill: (text: string) => string) {
  const [, scheme = '', given = ''] = BASIC.exec(value) ?? [];
  const said = Buffer.from(given, 'base64').toString('latin1');
  const filled = fill(said);
  if (filled === said) return null;
  const sent = Buffer.from(filled, 'latin1').toString('base64');
  return { value: `${scheme}${sent}`, swap: { from: given, to: sent, name: '' } };
}

/** Headers of a host in which no secret is repeated. One with a secret in its name is left out. */
export function hideInFields(fields: readonly Field[], hide: Filled['hide']): readonly Field[] {
  return fields
    .filter(({ rawName }) => hide(rawName) === rawName)
    .map((field) => ({ ...field, value: hide(field.value) }));
}

/** Replaces in one pass, the longest first, so that inserted text is not scanned again. */
function newSwapper(swaps: readonly Swap[], isMeant: (swap: Swap) => boolean): (text: string) => string {
  const byText = new Map(swaps.map((swap) => [swap.from, swap]));
  const longestFirst = [...byText.keys()].toSorted((a, b) => b.length - a.length);
  const pattern = new RegExp(longestFirst.map((text) => escapePattern(text)).join('|'), 'g');
  return (text) =>
    text.replace(pattern, (found) => {
      const swap = byText.get(found);
      return swap !== undefined && isMeant(swap) ? swap.to : found;
    });
}

/** The bytes of a value as text of a head: one character each. */
function onWire(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

/** Throws for a value that no header can carry as it is. The message does not contain it. */
export function checkSecretValue(value: string): void {
  const problem = problemWithSecret(value);
  if (problem !== null) throw new TypeError(`Cannot use value of secret: ${problem}`);
}

/** Why no header can carry a value, and what it should be; null when one can. Does not contain the value. */
export function problemWithSecret(value: string): string | null {
  if (value === '') return 'it is empty, expected a text';
  if (value.length > EGRESS_LIMITS.secretValueChars)
    return `it has ${value.length} characters, expected at most ${EGRESS_LIMITS.secretValueChars}`;
  // Boundary: a line break would begin a header of its own, or a second request.
  if (/[\r\n]/.test(value)) return 'it has a line break, expected one line without its end';
  if (value.includes('\0')) return 'it has a NUL, expected a text';
  if (/\p{Cc}/u.test(value)) return 'it has a control character, expected a text';
  return value === value.trim() ? null : 'it begins or ends with white space, expected a text without';
}
