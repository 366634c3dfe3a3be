import { bytesOf, joined } from '@palisade/guest/assembly';
import { isAlphanumeric, isAsciiPunctuation, isLetter } from './characters';
import { unescaped } from './entity';

const MOST_PARENTHESES: i32 = 32;
const MOST_ADDRESS: i32 = 254;
const HEX: string = '0123456789ABCDEF';

/** Where a link goes, and where what spells it ends. */
export class Target {
  readonly url: string;
  readonly title: string;
  readonly end: i32;

  constructor(url: string, title: string, end: i32) {
    this.url = url;
    this.title = title;
    this.end = end;
  }
}

/** Reads `(url "title")` from its bracket on; null where it is none. */
export function targetAt(text: string, at: i32): Target | null {
  let place = skipSpace(text, at + 1);
  const from = place;
  place = unitAt(text, place) === 0x3c ? endOfPointed(text, place) : endOfBare(text, place);
  if (place < 0) return null;
  const isPointed = unitAt(text, from) === 0x3c;
  const url = isPointed ? text.slice(from + 1, place - 1) : text.slice(from, place);
  const gap = skipSpace(text, place);
  const titleEnd = gap > place ? endOfTitle(text, gap) : gap;
  if (titleEnd < 0) return null;
  const end = skipSpace(text, titleEnd);
  if (unitAt(text, end) !== 0x29) return null;
  const title = titleEnd > gap ? text.slice(gap + 1, titleEnd - 1) : '';
  return new Target(unescaped(url, isAsciiPunctuation), unescaped(title, isAsciiPunctuation), end + 1);
}

/** `<scheme:rest>` or `<name@host>`, from its sign on; null where it is none. */
export function autolinkAt(text: string, at: i32): Target | null {
  let end = at + 1;
  let hasAt = false;
  for (; end < text.length; end += 1) {
    const unit = text.charCodeAt(end);
    if (unit === 0x3e) break;
    if (unit <= 0x20 || unit === 0x3c) return null;
    if (unit === 0x40) hasAt = true;
  }
  if (end >= text.length) return null;
  const inside = text.slice(at + 1, end);
  if (hasScheme(inside)) return new Target(inside, '', end + 1);
  return hasAt && isAddress(inside) ? new Target(`mailto:${inside}`, '', end + 1) : null;
}

/** The URL as an attribute has it; empty where it is none that a page may be led to. */
export function safeUrl(url: string): string {
  const small = url.slice(0, 8).toLowerCase();
  // Only these: what begins in any other way is a script, a file, or leads somewhere in the page that shows it.
  if (!small.startsWith('http://') && !small.startsWith('https://') && !small.startsWith('mailto:'))
    return '';
  const pieces: string[] = [];
  const bytes = bytesOf(url);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as i32;
    if (byte > 0x20 && byte < 0x7f && !isUnsafe(byte)) pieces.push(String.fromCharCode(byte));
    else pieces.push(`%${HEX.charAt(byte >> 4)}${HEX.charAt(byte & 15)}`);
  }
  return joined(pieces);
}

/** What a URL does not have: " < > [ \ ] ^ ` { | }. */
function isUnsafe(byte: i32): bool {
  if (byte === 0x22 || byte === 0x3c || byte === 0x3e || byte === 0x5e || byte === 0x60) return true;
  return (byte >= 0x5b && byte <= 0x5d) || (byte >= 0x7b && byte <= 0x7d);
}

/** Two to 32 letters, digits and + . - before a colon. */
function hasScheme(text: string): bool {
  if (!isLetter(unitAt(text, 0))) return false;
  let end = 1;
  for (; end < text.length && end <= 32; end += 1) {
    const unit = text.charCodeAt(end);
    if (!isAlphanumeric(unit) && unit !== 0x2b && unit !== 0x2e && unit !== 0x2d) break;
  }
  return end >= 2 && end <= 32 && unitAt(text, end) === 0x3a;
}

function isAddress(text: string): bool {
  const sign = text.indexOf('@');
  if (sign < 1 || text.length > MOST_ADDRESS) return false;
  for (let at = 0; at < sign; at += 1)
    if (!isAlphanumeric(text.charCodeAt(at)) && !".!#$%&'*+/=?^_`{|}~-".includes(text.charAt(at)))
      return false;
  const labels = text.slice(sign + 1).split('.');
  for (let at = 0; at < labels.length; at += 1) if (!isLabel(labels[at])) return false;
  return true;
}

function isLabel(label: string): bool {
  if (label.length === 0 || label.length > 63 || label.startsWith('-') || label.endsWith('-')) return false;
  for (let at = 0; at < label.length; at += 1)
    if (!isAlphanumeric(label.charCodeAt(at)) && label.charCodeAt(at) !== 0x2d) return false;
  return true;
}

function endOfPointed(text: string, from: i32): i32 {
  for (let at = from + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x3e) return at + 1;
    if (unit === 0x0a || unit === 0x3c) return -1;
    if (unit === 0x5c) at += 1;
  }
  return -1;
}

/** Without spaces and control characters, its round brackets in pairs. */
function endOfBare(text: string, from: i32): i32 {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x5c && isAsciiPunctuation(unitAt(text, at + 1))) at += 1;
    else if (unit === 0x28) depth += 1;
    else if (unit === 0x29 && depth === 0) return at;
    else if (unit === 0x29) depth -= 1;
    else if (unit <= 0x20 || unit === 0x7f) return depth === 0 && unit <= 0x20 ? at : -1;
    if (depth > MOST_PARENTHESES) return -1;
  }
  return -1;
}

/** Between quotes or brackets; the place itself where there is no title, -1 where one has no end. */
function endOfTitle(text: string, from: i32): i32 {
  const open = unitAt(text, from);
  if (open !== 0x22 && open !== 0x27 && open !== 0x28) return from;
  const close = open === 0x28 ? 0x29 : open;
  for (let at = from + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === close) return at + 1;
    if (unit === 0x28 && open === 0x28) return -1;
    if (unit === 0x5c) at += 1;
  }
  return -1;
}

function skipSpace(text: string, from: i32): i32 {
  let at = from;
  while (unitAt(text, at) === 0x20 || unitAt(text, at) === 0x0a || unitAt(text, at) === 0x09) at += 1;
  return at;
}

function unitAt(text: string, at: i32): i32 {
  return at < text.length ? text.charCodeAt(at) : -1;
}
