import { base64Cores } from '../core/redact.ts';

/*
 * Removes values from what a run returns: plain, in base64 and base64url (also inside a longer text, also wrapped), in
 * hexadecimal, with percent escapes and with those of JSON. It works on whole texts: a value that is split between two
 * texts is not found. It does not stop a run that hides a value on purpose.
 */

type NamedValue = { readonly name: string; readonly value: Uint8Array };

/** Returns the identical text or bytes where there is nothing to remove. */
type Scrubber = <T extends string | Uint8Array>(given: T) => T;

/** Shorter values occur by chance, and removing them would reveal them. */
export const MIN_SCRUBBED_BYTES = 8;

type Needle = {
  readonly bytes: Buffer;
  readonly mark: string;
  /** Neighbouring characters that share bits with the value. */
  readonly before: number;
  readonly after: number;
};
type Look = { readonly needles: readonly Needle[]; readonly view: (text: Buffer) => View | null };
type Span = { readonly start: number; readonly end: number; readonly mark: string };

/** Makes a function that replaces every value with `[secret NAME]`. */
export function newScrubber(secrets: readonly NamedValue[]): Scrubber {
  const looks = looksFor(secrets);
  return <T extends string | Uint8Array>(given: T): T => {
    const text = typeof given === 'string' ? Buffer.from(given) : Buffer.from(given);
    const spans = looks.flatMap((look) => spansIn(text, look));
    if (spans.length === 0) return given;
    const scrubbed = replace(text, spans);
    return (typeof given === 'string' ? scrubbed.toString() : new Uint8Array(scrubbed)) as T;
  };
}

function looksFor(secrets: readonly NamedValue[]): readonly Look[] {
  const values = secrets
    .map(({ name, value }) => ({ mark: `[secret ${name}]`, bytes: trimmed(value) }))
    .filter(({ bytes }) => bytes.length >= MIN_SCRUBBED_BYTES);
  if (values.length === 0) return [];
  const raw = values.map((value) => ({ ...value, before: 0, after: 0 }));
  const hex = raw.map((needle) => ({ ...needle, bytes: Buffer.from(needle.bytes.toString('hex')) }));
  const where = (char: string, view: (text: Buffer) => View) => (text: Buffer) =>
    text.includes(char) ? view(text) : null;
  return [
    { needles: raw, view: asIs },
    { needles: hex, view: inLowerCase },
    { needles: values.flatMap(base64Needles), view: inBase64 },
    { needles: raw, view: where('%', inPercent) },
    { needles: raw, view: where('+', inForm) },
    { needles: raw, view: where('\\', inJson) },
  ];
}

function base64Needles({ mark, bytes }: { readonly mark: string; readonly bytes: Buffer }): Needle[] {
  return base64Cores(bytes).map(({ text, ...shared }) => ({ mark, bytes: Buffer.from(text), ...shared }));
}

function spansIn(text: Buffer, { needles, view: viewOf }: Look): Span[] {
  const view = viewOf(text);
  if (view === null) return [];
  const spans: Span[] = [];
  for (const { bytes, mark, before, after } of needles) {
    for (let at = view.bytes.indexOf(bytes); at !== -1; at = view.bytes.indexOf(bytes, at + bytes.length)) {
      const first = Math.max(0, at - before);
      const last = Math.min(view.bytes.length, at + bytes.length + after) - 1;
      spans.push({ start: view.startOf(first), end: view.endOf(last), mark });
    }
  }
  return spans;
}

/** One mark for everything that overlaps: that of the value that starts first. */
function replace(text: Buffer, spans: readonly Span[]): Buffer {
  const parts: Uint8Array[] = [];
  let done = 0;
  for (const { start, end, mark } of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (start >= done) parts.push(text.subarray(done, start), Buffer.from(mark));
    done = Math.max(done, end);
  }
  return Buffer.concat([...parts, text.subarray(done)]);
}

/** Without surrounding white space, which is seldom copied along. */
function trimmed(value: Uint8Array): Buffer {
  const isSpace = (byte: number | undefined) =>
    byte === 0x20 || (byte !== undefined && byte >= 9 && byte <= 13);
  let [start, end] = [0, value.length];
  while (start < end && isSpace(value[start])) start += 1;
  while (end > start && isSpace(value[end - 1])) end -= 1;
  return Buffer.from(value.subarray(start, end));
}

/*
 * A text as its decoders read it: each byte of a view knows which part of the text it comes from. A plain value is
 * searched for in a view, so that it is found whatever its writer chose to escape and wherever lines break.
 */

type View = {
  readonly bytes: Buffer;
  readonly startOf: (index: number) => number;
  readonly endOf: (index: number) => number;
};

/** What is at a position of the text: the bytes that it means, and how many bytes of the text it takes. */
type Step = { readonly means: readonly number[]; readonly length: number };
type Read = (text: Buffer, index: number) => Step;

const NOTHING: readonly number[] = [];
const LF = 0x0a;
const CR = 0x0d;
/** The character after the backslash, and what the two mean. */
const ESCAPES = new Map([...'bfnrt"\\/'].map((char, i) => [char, '\b\f\n\r\t"\\/'.charCodeAt(i)]));
const UNIT = /^\\u([0-9a-fA-F]{4})$/;

function asIs(text: Buffer): View {
  return { bytes: text, startOf: (index) => index, endOf: (index) => index + 1 };
}

/** Letters in lower case: hexadecimal is written in either. */
function inLowerCase(text: Buffer): View {
  return asIs(Buffer.from(text.toString('latin1').toLowerCase(), 'latin1'));
}

/** Both alphabets of base64 are unified, and line ends are removed. */
function inBase64(text: Buffer): View {
  return decoded(text, (_, index) => {
    const byte = text[index] ?? 0;
    if (byte === LF || byte === CR) return { means: NOTHING, length: 1 };
    const folded = isChar(byte, '-') ? '+' : isChar(byte, '_') ? '/' : null;
    return plain(folded === null ? byte : folded.charCodeAt(0));
  });
}

function inPercent(text: Buffer): View {
  return decoded(text, readPercent);
}

/** The same for a form, where a plus is a space. */
function inForm(text: Buffer): View {
  return decoded(text, (_, index) => (isChar(text[index], '+') ? plain(0x20) : readPercent(text, index)));
}

function inJson(text: Buffer): View {
  return decoded(text, readJson);
}

function readPercent(text: Buffer, index: number): Step {
  const byte = text[index] ?? 0;
  if (!isChar(byte, '%')) return plain(byte);
  const code = text.toString('latin1', index + 1, index + 3);
  return /^[0-9a-fA-F]{2}$/.test(code) ? { means: [Number.parseInt(code, 16)], length: 3 } : plain(byte);
}

function readJson(text: Buffer, index: number): Step {
  const byte = text[index] ?? 0;
  if (!isChar(byte, '\\')) return plain(byte);
  const meant = ESCAPES.get(String.fromCharCode(text[index + 1] ?? 0));
  if (meant !== undefined) return { means: [meant], length: 2 };
  const unit = unitAt(text, index);
  if (unit === null) return plain(byte);
  const next = unit >= 0xd800 && unit <= 0xdbff ? unitAt(text, index + 6) : null;
  const isPair = next !== null && next >= 0xdc00 && next <= 0xdfff;
  const char = isPair ? String.fromCharCode(unit, next) : String.fromCharCode(unit);
  return { means: [...Buffer.from(char)], length: isPair ? 12 : 6 };
}

function unitAt(text: Buffer, index: number): number | null {
  const [, hex] = UNIT.exec(text.toString('latin1', index, index + 6)) ?? [];
  return hex === undefined ? null : Number.parseInt(hex, 16);
}

function plain(byte: number): Step {
  return { means: [byte], length: 1 };
}

function isChar(byte: number | undefined, char: string): boolean {
  return byte === char.charCodeAt(0);
}

/** No escape is shorter than what it means, so no view is longer than the text. */
function decoded(text: Buffer, read: Read): View {
  const bytes = Buffer.alloc(text.length);
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  let count = 0;
  for (let index = 0; index < text.length; ) {
    const { means, length } = read(text, index);
    for (const byte of means) {
      bytes[count] = byte;
      starts[count] = index;
      ends[count] = index + length;
      count += 1;
    }
    index += length;
  }
  return {
    bytes: bytes.subarray(0, count),
    startOf: (index) => starts[index] ?? text.length,
    endOf: (index) => ends[index] ?? text.length,
  };
}
