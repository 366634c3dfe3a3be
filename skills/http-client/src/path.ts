import { asList, asText, bytesOf, Json } from '@palisade/guest/assembly';

const HEX: string = '0123456789ABCDEF';
const SLASH: i32 = 0x2f;
const PERCENT: i32 = 0x25;

/** A path that means the same to everybody: plain characters and %xx, no empty segments, none that climbs. */
export function isPath(path: string): bool {
  if (path.length === 0 || path.charCodeAt(0) !== SLASH) return false;
  for (let at = 0; at < path.length; at += 1) {
    const unit = path.charCodeAt(at);
    if (unit === PERCENT) {
      if (!isHex(path, at + 1) || !isHex(path, at + 2)) return false;
    } else if (unit !== SLASH && !isUnreserved(unit) && !"!$&'()*+,;=:@".includes(path.charAt(at)))
      return false;
  }
  const segments = path.slice(1).split('/');
  for (let at = 0; at < segments.length; at += 1) {
    const plain = segments[at].toLowerCase().replaceAll('%2e', '.');
    if (plain === '.' || plain === '..') return false;
    if (plain === '' && at < segments.length - 1) return false;
    // A slash that is spelled would be a segment to some and none to others.
    if (plain.includes('%2f') || plain.includes('%5c')) return false;
  }
  return true;
}

/** `?name=value&…` of a list of pairs; empty where there are none. */
export function queryOf(value: Json | null): string {
  const pairs = asList(value);
  const pieces: string[] = [];
  for (let at = 0; at < pairs.length; at += 1) {
    const name = asText(pairs[at].get('name'));
    const text = asText(pairs[at].get('value'));
    if (name === null || text === null) continue;
    pieces.push(`${pieces.length === 0 ? '?' : '&'}${encoded(name)}=${encoded(text)}`);
  }
  return pieces.join('');
}

function encoded(text: string): string {
  const bytes = bytesOf(text);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as i32;
    if (isUnreserved(byte)) pieces.push(String.fromCharCode(byte));
    else pieces.push(`%${HEX.charAt(byte >> 4)}${HEX.charAt(byte & 15)}`);
  }
  return pieces.join('');
}

function isUnreserved(unit: i32): bool {
  const small = unit | 0x20;
  if ((small >= 0x61 && small <= 0x7a) || (unit >= 0x30 && unit <= 0x39)) return true;
  return unit === 0x2d || unit === 0x2e || unit === 0x5f || unit === 0x7e;
}

function isHex(text: string, at: i32): bool {
  if (at >= text.length) return false;
  const unit = text.charCodeAt(at);
  const small = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || (small >= 0x61 && small <= 0x66);
}
