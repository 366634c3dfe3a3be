import { joined } from '@palisade/guest/assembly';
import { isAlphanumeric, isDigit } from './characters';

const MOST_NAME: i32 = 8;
/** Names in order, and what each stands for at the same place. */
const NAMES: StaticArray<string> = [
  'amp',
  'lt',
  'gt',
  'quot',
  'apos',
  'nbsp',
  'copy',
  'reg',
  'trade',
  'hellip',
  'ndash',
  'mdash',
  'lsquo',
  'rsquo',
  'ldquo',
  'rdquo',
  'laquo',
  'raquo',
  'bull',
  'middot',
  'deg',
  'plusmn',
  'times',
  'divide',
  'euro',
  'pound',
  'yen',
  'cent',
  'sect',
  'para',
  'larr',
  'rarr',
  'uarr',
  'darr',
  'auml',
  'ouml',
  'uuml',
  'Auml',
  'Ouml',
  'Uuml',
  'szlig',
];
const VALUES: string = '&<>"\'\u00a0©®™…–—‘’“”«»•·°±×÷€£¥¢§¶←→↑↓äöüÄÖÜß';

/** What an entity at a place stands for, and where it ends; nothing where there is none. */
export class Entity {
  readonly text: string;
  readonly end: i32;

  constructor(text: string, end: i32) {
    this.text = text;
    this.end = end;
  }
}

/** Reads `&name;`, `&#number;` or `&#xnumber;`. A name that is not known is text. */
export function entityAt(text: string, at: i32): Entity | null {
  if (at + 2 < text.length && text.charCodeAt(at + 1) === 0x23) return numberAt(text, at + 2);
  let end = at + 1;
  while (end < text.length && end - at <= MOST_NAME && isAlphanumeric(text.charCodeAt(end))) end += 1;
  if (end >= text.length || text.charCodeAt(end) !== 0x3b) return null;
  const place = NAMES.indexOf(text.slice(at + 1, end));
  return place < 0 ? null : new Entity(VALUES.charAt(place), end + 1);
}

function numberAt(text: string, at: i32): Entity | null {
  const isHex = (text.charCodeAt(at) | 0x20) === 0x78;
  const from = isHex ? at + 1 : at;
  let end = from;
  let number = 0;
  for (; end < text.length && end - from <= 7; end += 1) {
    const value = digitOf(text.charCodeAt(end), isHex);
    if (value < 0) break;
    number = number * (isHex ? 16 : 10) + value;
  }
  const digits = end - from;
  if (digits === 0 || digits > (isHex ? 6 : 7) || end >= text.length || text.charCodeAt(end) !== 0x3b)
    return null;
  const isCharacter = number > 0 && number <= 0x10ffff && !(number >= 0xd800 && number <= 0xdfff);
  return new Entity(isCharacter ? String.fromCodePoint(number) : '\ufffd', end + 1);
}

function digitOf(unit: i32, isHex: bool): i32 {
  if (isDigit(unit)) return unit - 0x30;
  const small = unit | 0x20;
  return isHex && small >= 0x61 && small <= 0x66 ? small - 0x61 + 10 : -1;
}

/** A text without its backslashes and with what its entities stand for. */
export function unescaped(text: string, isEscapable: (unit: i32) => bool): string {
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x5c && at + 1 < text.length && isEscapable(text.charCodeAt(at + 1))) {
      pieces.push(text.slice(from, at));
      from = at + 1;
      at += 1;
    } else if (unit === 0x26) {
      const entity = entityAt(text, at);
      if (entity === null) continue;
      pieces.push(text.slice(from, at));
      pieces.push(entity.text);
      from = entity.end;
      at = entity.end - 1;
    }
  }
  pieces.push(text.slice(from));
  return joined(pieces);
}
