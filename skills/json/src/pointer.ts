/* JSON Pointer, RFC 6901. */
import { Json, JsonList } from '@palisade/guest/assembly';

/** The tokens of a pointer; null where it is none. */
export function tokensOf(pointer: string): string[] | null {
  const tokens = pointer.split('/');
  // Before the first slash is nothing; a pointer without one is empty itself.
  if (tokens[0] !== '') return null;
  tokens.shift();
  for (let index = 0; index < tokens.length; index += 1) {
    if (!isEscaped(tokens[index])) return null;
    // In this order: ~01 is ~1, and no slash.
    tokens[index] = tokens[index].replaceAll('~1', '/').replaceAll('~0', '~');
  }
  return tokens;
}

/** What the tokens lead to; null where there is nothing. */
export function at(document: Json, tokens: string[]): Json | null {
  let value: Json | null = document;
  for (let index = 0; index < tokens.length && value !== null; index += 1)
    value = value instanceof JsonList ? itemOf(value as JsonList, tokens[index]) : value.get(tokens[index]);
  return value;
}

function isEscaped(token: string): bool {
  for (let index = token.indexOf('~'); index >= 0; index = token.indexOf('~', index + 1)) {
    const next = index + 1 < token.length ? token.charCodeAt(index + 1) : 0;
    if (next !== 0x30 && next !== 0x31) return false;
  }
  return true;
}

/** The item that a token names by digits without a zero in front; `-`, the one behind the last, is never there. */
function itemOf(list: JsonList, token: string): Json | null {
  if (token.length === 0 || token.length > 9 || (token.length > 1 && token.charCodeAt(0) === 0x30))
    return null;
  for (let index = 0; index < token.length; index += 1)
    if (token.charCodeAt(index) < 0x30 || token.charCodeAt(index) > 0x39) return null;
  const index = I32.parseInt(token, 10);
  return index < list.items.length ? list.items[index] : null;
}
