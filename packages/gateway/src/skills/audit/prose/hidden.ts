/** Invisible characters and those that reverse the order of a line, where no script and no emoji needs them. */
export type HiddenCharacter = { readonly kind: HiddenKind; readonly at: number; readonly name: string };
export type HiddenKind = 'bidirectional' | 'invisible' | 'control';

const PLAIN = /^[\t\n\r\x20-\x7e]*$/;
/** The braille blank is not ignorable by its Unicode properties, but shows nothing all the same. */
const SUSPECT = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const BIDIRECTIONAL = /\p{Bidi_Control}/u;
const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\u20e3|\ufe0f/u;
const KEYCAP = /[0-9#*]/;
/** Scripts whose writing needs joiners. */
const JOINING =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Mongolian}]/u;

/** The first hidden character of each kind. */
export function findHidden(text: string): readonly HiddenCharacter[] {
  if (PLAIN.test(text)) return [];
  const found = new Map<HiddenKind, HiddenCharacter>();
  for (const { 0: char, index } of text.matchAll(SUSPECT)) {
    if (isNeeded(text, char, index)) continue;
    const kind = kindOf(char);
    if (found.has(kind)) continue;
    found.set(kind, { kind, at: index, name: nameOf(char) });
    if (found.size === 3) break;
  }
  return [...found.values()];
}

function kindOf(char: string): HiddenKind {
  if (BIDIRECTIONAL.test(char)) return 'bidirectional';
  return /\p{Cc}/u.test(char) ? 'control' : 'invisible';
}

/** Line ends and tabs, the mark at the beginning of a file, and what joins the parts of an emoji or of a word. */
function isNeeded(text: string, char: string, at: number): boolean {
  if (char === '\n' || char === '\r' || char === '\t') return true;
  if (char === '\ufeff') return at === 0;
  const before = characterBefore(text, at);
  const after = String.fromCodePoint(text.codePointAt(at + char.length) ?? 0x20);
  if (char === '\ufe0f' || char === '\ufe0e')
    return before !== '\ufe0f' && (PICTURE.test(before) || (KEYCAP.test(before) && after === '\u20e3'));
  if (char === '\u200d' && PICTURE.test(before) && PICTURE.test(after)) return true;
  if (char === '\u200c' || char === '\u200d') return JOINING.test(before) && JOINING.test(after);
  return false;
}

function characterBefore(text: string, at: number): string {
  const low = text.charCodeAt(at - 1);
  const isPair = low >= 0xdc00 && low <= 0xdfff;
  return at === 0 ? ' ' : text.slice(at - (isPair ? 2 : 1), at);
}

function nameOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Words that mix Latin letters with those of a script that has look-alikes of them. */
const MIXED =
  /\p{Script=Latin}[\p{Script=Cyrillic}\p{Script=Cherokee}\p{Script=Armenian}οΟΑΒΕΖΗΙΚΜΝΡΤΥΧν]|[\p{Script=Cyrillic}\p{Script=Cherokee}\p{Script=Armenian}οΟΑΒΕΖΗΙΚΜΝΡΤΥΧν]\p{Script=Latin}/u;

/** Where a word mixes scripts so that it reads as another; -1 where none does. */
export function findMixedWord(text: string): number {
  return PLAIN.test(text) ? -1 : text.search(MIXED);
}

/** The same of a name, whose words all have to be of one such script. */
export function isMixedName(name: string): boolean {
  return (
    /\p{Script=Latin}/u.test(name) &&
    /[\p{Script=Cyrillic}\p{Script=Cherokee}\p{Script=Armenian}\p{Script=Greek}]/u.test(name)
  );
}

/** A greeting or a name in another script cannot instruct a model. */
const LEAST_OTHER_BYTES = 24;
const OTHER_LETTERS = /(?:(?![\p{Script=Latin}\p{Script=Common}])\p{L})+/gu;

/** Whether a text has a sentence or more in letters other than Latin ones. */
export function isOfOtherScript(text: string): boolean {
  if (PLAIN.test(text)) return false;
  let bytes = 0;
  for (const [letters] of text.matchAll(OTHER_LETTERS)) {
    // A letter of a script with thousands of them says more, and has more bytes.
    bytes += Buffer.byteLength(letters);
    if (bytes >= LEAST_OTHER_BYTES) return true;
  }
  return false;
}

/** A long run of base64 or hexadecimal: unreadable text in a document for people. */
type EncodedRun = { readonly at: number; readonly chars: number };

/** The longest digest in any common spelling has 128. */
const LEAST_CHARS = 400;
/** Lines of a text that was wrapped; words and paths are shorter. */
const LEAST_LINE = 40;
const LEAST_KINDS = 14;

const ENCODED = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-')
  ENCODED[char.charCodeAt(0)] = 1;

/** The first such run, across line ends where it was wrapped; null if there is none. */
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
    // A run continues on the next line when its own line was long and full of it.
    if (at - from < LEAST_LINE || next === at) chars = 0;
    at = Math.max(next, at + 1);
  }
  return null;
}

/** Past one line end and the indentation of the next line; the same position if there is no line end. */
function afterLineEnd(bytes: Uint8Array, at: number): number {
  let next = bytes[at] === 0x0d ? at + 1 : at;
  if (bytes[next] !== 0x0a) return at;
  next += 1;
  while (bytes[next] === 0x20 || bytes[next] === 0x09 || bytes[next] === 0x3e) next += 1;
  return next;
}

/** Letters and digits of many kinds; a line of one character or a long word does not count. */
function isMixed(run: Uint8Array): boolean {
  const sample = Buffer.from(run.subarray(0, 4 * LEAST_CHARS)).toString('latin1');
  return /\d/.test(sample) && /[A-Za-z]/.test(sample) && new Set(sample).size >= LEAST_KINDS;
}

/** Short runs that could be words in base64 or hexadecimal; what is longer than this is a finding by itself. */
const RUN = /(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{16,4096}={0,2})(?![A-Za-z0-9+/_=-])/g;
const HEX = /^(?:[0-9a-fA-F]{2})+$/;
/** Two words at least, and nothing that begins a line. */
const WORDS = /^[\x20-\x7e]*[A-Za-z]{2} +[A-Za-z]{2}[\x20-\x7e]*$/;

/** The same text with its base64 or hexadecimal runs decoded, where they decode to nothing but words. */
export function decodeWords(text: string): string {
  return text.replace(RUN, (run) => {
    const decoded = Buffer.from(run, HEX.test(run) ? 'hex' : 'base64').toString('latin1');
    return WORDS.test(decoded) ? decoded : run;
  });
}
