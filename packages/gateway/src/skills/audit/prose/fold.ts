/*
 * Brings a text into the plain form that phrases are looked for in: what a reader or a model sees in it, whatever it is
 * written with. Line ends stay, so that a place can be named. Everything here takes linear time: the patterns have no part
 * that can match the same text in two ways, and marks are taken away before they could be sorted.
 */
import { LOOK_ALIKE_LETTERS } from './look-alikes.table.ts';

const PLAIN = /^\p{ASCII}*$/u;
/** Marks and what shows nothing; and the few signs that stand for whole phrases and grow to many times their size. */
const MARKS_AND_IGNORED = /[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}\ufdf0-\ufdfd]+/gu;
const MARKS = /\p{M}+/gu;
/** The letter that a reader takes another one for, by its number; zero: itself. */
const SEEN_AS = new Uint16Array(0x1_0000);
for (const [letter, seen] of LOOK_ALIKE_LETTERS) SEEN_AS[letter.charCodeAt(0)] = seen.charCodeAt(0);

const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/g;
/** What stands between two letters of one word and shows as nothing: emphasis, escapes, tags. */
const INSIDE_WORD = /(?<=[a-z])(?:[*_~`\\]|<\/?[a-z]{1,8}>)+(?=[a-z])/g;
const APOSTROPHE = /(?<=[a-z])['’](?=[a-z])/g;

/** The text as it is understood, in small letters. */
export function fold(text: string): string {
  const lower = (PLAIN.test(text) ? text : toPlainLetters(text)).toLowerCase();
  const decoded = lower.includes('&') ? lower.replace(ENTITY, decodeEntity) : lower;
  return decoded.replace(APOSTROPHE, '').replace(INSIDE_WORD, '');
}

function toPlainLetters(text: string): string {
  // Boundary: sorting a long run of marks takes the square of its length, so there is none left to sort.
  const bare = text.replace(MARKS_AND_IGNORED, '');
  const bytes = Buffer.from(bare.normalize('NFKD').replace(MARKS, ''), 'utf16le');
  // A text can have many such letters, and a call for each would be slow.
  for (let at = 0; at < bytes.length; at += 2) {
    const seen = SEEN_AS[bytes.readUInt16LE(at)] ?? 0;
    if (seen !== 0) bytes.writeUInt16LE(seen, at);
  }
  return bytes.toString('utf16le');
}

function decodeEntity(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return ENTITIES[name] ?? whole;
  const point = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  // Only what phrases are made of; nothing that would begin another line.
  return point >= 0x20 && point < 0x7f ? String.fromCharCode(point).toLowerCase() : whole;
}

/** The number of the line that an index stands in, counted from 1. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}
