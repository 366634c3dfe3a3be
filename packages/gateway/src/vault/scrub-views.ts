/*
 * A text as those read it who decode it: each byte of a view knows which part of the text it comes from. A value is
 * looked for in a view as it is, so that it is found however its writer chose what to escape and where to break lines.
 */

export type View = {
  readonly bytes: Buffer;
  /** Where in the text byte number `index` begins. */
  readonly startOf: (index: number) => number;
  /** Where in the text byte number `index` ends. */
  readonly endOf: (index: number) => number;
};

/** What stands at a place of the text: the bytes that it means, and how many bytes of the text it takes. */
type Step = { readonly means: readonly number[]; readonly length: number };
type Read = (text: Buffer, index: number) => Step;

const NOTHING: readonly number[] = [];
const LF = 0x0a;
const CR = 0x0d;
/** What follows the backslash, and what the two mean. */
const ESCAPES = new Map([...'bfnrt"\\/'].map((char, i) => [char, '\b\f\n\r\t"\\/'.charCodeAt(i)]));
const UNIT = /^\\u([0-9a-fA-F]{4})$/;

/** The text itself. */
export function asIs(text: Buffer): View {
  return { bytes: text, startOf: (index) => index, endOf: (index) => index + 1 };
}

/** Letters are in lower case: hexadecimal is written in either. */
export function inLowerCase(text: Buffer): View {
  return asIs(Buffer.from(text.toString('latin1').toLowerCase(), 'latin1'));
}

/** Both alphabets of base64 are one, and line ends are not there. */
export function inBase64(text: Buffer): View {
  return decoded(text, (_, index) => {
    const byte = text[index] ?? 0;
    if (byte === LF || byte === CR) return { means: NOTHING, length: 1 };
    const folded = isChar(byte, '-') ? '+' : isChar(byte, '_') ? '/' : null;
    return plain(folded === null ? byte : folded.charCodeAt(0));
  });
}

/** Percent escapes are what they stand for. */
export function inPercent(text: Buffer): View {
  return decoded(text, readPercent);
}

/** The same of a form, where a plus is a space. */
export function inForm(text: Buffer): View {
  return decoded(text, (_, index) => (isChar(text[index], '+') ? plain(0x20) : readPercent(text, index)));
}

/** Escapes of JSON strings are what they stand for. */
export function inJson(text: Buffer): View {
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

/** No escape is shorter than what it means, so the text is as long as any view of it. */
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
