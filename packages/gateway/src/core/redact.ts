import type { Json } from './json.ts';

/*
 * Removes the secrets of the machine from what is about to be recorded. It recognises secrets by their value, never by
 * the name of a key, so a token is found wherever a tool printed it and a field that is merely called "token" is kept.
 * It finds whole values in the usual encodings; it does not stop a tool that hides a secret on purpose.
 */

export type Secret = { readonly name: string; readonly value: string };

/** Shorter values occur by chance, and removing them would reveal them. */
const MIN_SECRET_CHARS = 8;

type Form = { readonly text: string; readonly mark: string };

/** Makes a function that replaces every secret with `[redacted:NAME]`; other values are returned unchanged. */
export function makeRedactor(secrets: readonly Secret[]): (value: Json) => Json {
  const marks = new Map<string, string>();
  for (const { name, value } of secrets) {
    const secret = value.trim();
    if (secret.length < MIN_SECRET_CHARS) continue;
    for (const form of spellingsOf(secret)) if (!marks.has(form)) marks.set(form, `[redacted:${name}]`);
  }
  if (marks.size === 0) return (value) => value;
  const replace = makeReplace([...marks].map(([text, mark]) => ({ text, mark })));
  return (value) => redact(value, replace);
}

/** One pass over a text: find the first characters of any form, then the longest form at that position. */
function makeReplace(forms: readonly Form[]): (text: string) => string {
  const byStart = new Map<string, Form[]>();
  // Longest first: a secret that starts like another must not leave its own end behind.
  for (const form of [...forms].sort((a, b) => b.text.length - a.text.length)) {
    const start = form.text.slice(0, MIN_SECRET_CHARS);
    byStart.set(start, [...(byStart.get(start) ?? []), form]);
  }
  const starts = new RegExp([...byStart.keys()].map(escapePattern).join('|'), 'g');
  return (text) => {
    let redacted = '';
    let done = 0;
    starts.lastIndex = 0;
    for (let found = starts.exec(text); found !== null; found = starts.exec(text)) {
      const { index } = found;
      const form = byStart.get(found[0])?.find((candidate) => text.startsWith(candidate.text, index));
      starts.lastIndex = index + (form?.text.length ?? 1);
      if (form === undefined) continue;
      redacted += text.slice(done, index) + form.mark;
      done = starts.lastIndex;
    }
    return done === 0 ? text : redacted + text.slice(done);
  };
}

function redact(value: Json, replace: (text: string) => string): Json {
  if (typeof value === 'string') return value.length < MIN_SECRET_CHARS ? value : replace(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return redactList(value, replace);
  return redactObject(value as { readonly [key: string]: Json }, replace);
}

function redactList(list: readonly Json[], replace: (text: string) => string): Json {
  const redacted = list.map((element) => redact(element, replace));
  return redacted.some((element, i) => element !== list[i]) ? redacted : list;
}

function redactObject(object: { readonly [key: string]: Json }, replace: (text: string) => string): Json {
  let isChanged = false;
  const redacted = new Map<string, Json>();
  for (const [key, value] of Object.entries(object)) {
    const newValue = redact(value, replace);
    let newKey = key.length < MIN_SECRET_CHARS ? key : replace(key);
    if (newKey !== key || newValue !== value) isChanged = true;
    // Two keys that become equal would lose a value of the record.
    while (redacted.has(newKey)) newKey += '+';
    redacted.set(newKey, newValue);
  }
  return isChanged ? Object.fromEntries(redacted) : object;
}

/** The spellings in which a value leaves a program: plain, escaped, percent-encoded, in hex and in base64. */
export function spellingsOf(secret: string): Set<string> {
  const bytes = Buffer.from(secret);
  const escaped = JSON.stringify(secret).slice(1, -1);
  const percent = percentEncode(bytes);
  const hex = bytes.toString('hex');
  const forms = [
    secret,
    escaped,
    escaped.replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
    percent,
    percent.replace(/%../g, (code) => code.toLowerCase()),
    percent.replaceAll('%20', '+'),
    hex.replace(/../g, '%$&'),
    hex,
    hex.toUpperCase(),
    ...base64Forms(bytes),
  ];
  return new Set(forms);
}

function percentEncode(bytes: Uint8Array): string {
  let encoded = '';
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    encoded += /[A-Za-z0-9\-_.~]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

/** Base64 of the value alone, and its inner characters inside a longer encoded text (`user:secret`) at each offset. */
function base64Forms(bytes: Uint8Array): string[] {
  const whole = Buffer.from(bytes);
  const forms = [whole.toString('base64'), ...base64Cores(bytes).map(({ text }) => text)];
  return [...forms, whole.toString('base64url')].flatMap((form) => [
    form,
    form.replaceAll('+', '-').replaceAll('/', '_'),
  ]);
}

/** The characters that the value alone determines, at each of its three offsets, and how many neighbours share bits. */
export function base64Cores(bytes: Uint8Array) {
  return [0, 1, 2].map((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const encoded = padded.replace(/=+$/, '');
    const [before, after] = [offset === 0 ? 0 : 1, (offset + bytes.length) % 3 === 0 ? 0 : 1];
    return { text: encoded.slice(offset + before, encoded.length - after), before, after };
  });
}

/** A pattern for the text itself. */
export function escapePattern(text: string): string {
  return text.replace(/[^A-Za-z0-9]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
