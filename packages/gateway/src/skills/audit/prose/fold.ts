/*
 * Normalises a text to the plain form that phrases are searched in: what a reader or a model sees, however it is
 * encoded. Line ends stay, so that positions can be reported. Everything here takes linear time: the patterns have no
 * part that can match the same text in two ways, and marks are removed before they could be sorted.
 */
import { decodeWords } from './hidden.ts';
import { LOOK_ALIKE_LETTERS } from './look-alikes.table.ts';

const PLAIN = /^\p{ASCII}*$/u;
/** Marks and invisible characters; and the few signs that expand to whole phrases, many times their size. */
const MARKS_AND_IGNORED = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}\ufdf0-\ufdfd]+/gu;
const MARKS = /\p{M}+/gu;
/** The letter that a reader takes another one for, by its number; zero: itself. */
const SEEN_AS = new Uint16Array(0x1_0000);
for (const [letter, seen] of LOOK_ALIKE_LETTERS) SEEN_AS[letter.charCodeAt(0)] = seen.charCodeAt(0);

/** Letters in circles, squares and flags, by the number of the `a` of each row. */
const FRAMED = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/gu;
const FRAMED_ROWS: readonly number[] = [0x1f1e6, 0x1f170, 0x1f150];

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ...'lt< gt> amp& quot" apos\' vert| verbar| verticalline| lowbar_ hyphen- dollar$ lpar( rpar) grave`'
    .split(' ')
    .map((each) => [each.slice(0, -1), each.slice(-1)] as const),
  ...['nbsp', 'ensp', 'emsp', 'tab', 'newline'].map((name) => [name, ' '] as const),
  ...['shy', 'zwj', 'zwnj', 'zerowidthspace', 'wj', 'nobreak'].map((name) => [name, ''] as const),
]);
const ENTITY = /&(?:#(\d{1,12});?|#x([0-9a-f]{1,12});?|([a-z]{2,16});)/g;
/** `%69`, `\x69`, `\u0069`, `\u{69}`. */
const ESCAPE = /(?:%|\\x|\\u00|\\u\{0{0,6})([2-7][0-9a-f])\}?/g;
/** What may separate two letters of one word without being visible: emphasis, escapes, comments, inline tags. */
const INSIDE_WORD =
  /(?<=[a-z])(?:[*~`\\]|""|''|<!--[^<>\n]{0,80}-->|<\/?(?:a|abbr|b|big|bdi|bdo|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var|wbr)(?:\s[^<>\n]{0,200})?\/?>)+(?=[a-z])/g;
const APOSTROPHE = /(?<=[a-z])['’](?=[a-z])/g;

/** The text as it is understood, in lower case. */
export function fold(text: string): string {
  const decoded = decodeWords(text);
  const lower = (PLAIN.test(decoded) ? decoded : toPlainLetters(decoded)).toLowerCase();
  // Text that is escaped twice is unescaped by a reader that decodes twice.
  const plain = lower.includes('&')
    ? lower.replace(ENTITY, decodeEntity).replace(ENTITY, decodeEntity)
    : lower;
  return plain.replace(ESCAPE, decodeEscape).replace(INSIDE_WORD, '').replace(APOSTROPHE, '');
}

function toPlainLetters(text: string): string {
  // Boundary: sorting a long run of marks takes quadratic time, so marks are removed before.
  const bare = text.replace(MARKS_AND_IGNORED, '').replace(FRAMED, unframe);
  const bytes = Buffer.from(bare.normalize('NFKD').replace(MARKS, ''), 'utf16le');
  // A text can have many such letters, and a call for each would be slow.
  for (let at = 0; at < bytes.length; at += 2) {
    const seen = SEEN_AS[bytes.readUInt16LE(at)] ?? 0;
    if (seen !== 0) bytes.writeUInt16LE(seen, at);
  }
  return bytes.toString('utf16le');
}

function unframe(char: string): string {
  const point = char.codePointAt(0) ?? 0;
  const first = FRAMED_ROWS.find((row) => point >= row) ?? point;
  return String.fromCharCode(0x61 + point - first);
}

function decodeEntity(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return ENTITIES.get(name) ?? whole;
  const point = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  // Nothing that would begin another line.
  if (point < 0x20 || point > 0x10ffff) return whole;
  const char = String.fromCodePoint(point);
  return point < 0x7f
    ? printable(point)
    : char.replace(MARKS_AND_IGNORED, '').normalize('NFKD').replace(/\s/g, ' ');
}

function decodeEscape(whole: string, hex: string): string {
  const char = printable(Number.parseInt(hex, 16));
  // In a link these mean something other than the character they encode.
  return '/?#@:'.includes(char) ? whole : char;
}

function printable(point: number): string {
  return point < 0x7f ? String.fromCharCode(point).toLowerCase() : ' ';
}

/** The line number of an index, counted from 1. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}
