/** A long run of base64 or hexadecimal: something that nobody can read, in a text that people are to read. */
export type EncodedRun = { readonly at: number; readonly chars: number };

/** The longest digest in any common spelling has 128. */
const LEAST_CHARS = 400;
/** Lines of a text that was wrapped; words and paths are shorter. */
const LEAST_LINE = 40;
const LEAST_KINDS = 14;

const ENCODED = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-')
  ENCODED[char.charCodeAt(0)] = 1;

/** The first such run, over line ends where it was wrapped; null where there is none. */
export function findEncoded(bytes: Uint8Array): EncodedRun | null {
  let start = 0;
  let chars = 0;
  let at = 0;
  while (at < bytes.length) {
    const from = at;
    while (at < bytes.length && ENCODED[bytes[at] ?? 0] === 1) at += 1;
    if (chars === 0) start = from;
    chars += at - from;
    if (chars >= LEAST_CHARS) {
      if (isMixed(bytes.subarray(start, at))) return { at: start, chars };
      chars = 0;
    }
    const next = afterLineEnd(bytes, at);
    // A run goes on in the next line when its own line was long and full of it.
    if (at - from < LEAST_LINE || next === at) chars = 0;
    at = Math.max(next, at + 1);
  }
  return null;
}

/** Past one line end and what indents the next line; the same place where there is none. */
function afterLineEnd(bytes: Uint8Array, at: number): number {
  let next = bytes[at] === 0x0d ? at + 1 : at;
  if (bytes[next] !== 0x0a) return at;
  next += 1;
  while (bytes[next] === 0x20 || bytes[next] === 0x09 || bytes[next] === 0x3e) next += 1;
  return next;
}

/** Letters and digits of many kinds; a line of one sign or a long word is none. */
function isMixed(run: Uint8Array): boolean {
  const sample = Buffer.from(run.subarray(0, 4 * LEAST_CHARS)).toString('latin1');
  return /\d/.test(sample) && /[A-Za-z]/.test(sample) && new Set(sample).size >= LEAST_KINDS;
}

/** Short runs that could be words in base64 or hexadecimal; what is longer than this is a finding by itself. */
const RUN = /(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{16,4096}={0,2})(?![A-Za-z0-9+/_=-])/g;
const HEX = /^(?:[0-9a-fA-F]{2})+$/;
/** Two words at least, and nothing that begins a line. */
const WORDS = /^[\x20-\x7e]*[A-Za-z]{2} +[A-Za-z]{2}[\x20-\x7e]*$/;

/** The same text with the words that it has in base64 or hexadecimal, where they are nothing but words. */
export function decodeWords(text: string): string {
  return text.replace(RUN, (run) => {
    const decoded = Buffer.from(run, HEX.test(run) ? 'hex' : 'base64').toString('latin1');
    return WORDS.test(decoded) ? decoded : run;
  });
}
