/* How the blocks begin that a line can begin, recognised behind its indentation. */
import { Block, CODE, HEADING, ITEM, LIST } from './block';
import { strip, stripEnd } from './characters';
import { Line } from './line';

const HASH: i32 = 0x23;
const STAR: i32 = 0x2a;
const PLUS: i32 = 0x2b;
const DASH: i32 = 0x2d;
const DOT: i32 = 0x2e;
const EQUALS: i32 = 0x3d;
const UNDERSCORE: i32 = 0x5f;
const BACKTICK: i32 = 0x60;
const CLOSING: i32 = 0x29;
const TILDE: i32 = 0x7e;

/** `# heading #`: takes the line. */
export function takeHeading(line: Line, number: i32): Block | null {
  let level = 0;
  while (line.peek(level) === HASH) level += 1;
  if (level < 1 || level > 6 || !isSpaceOrEnd(line.peek(level))) return null;
  const heading = new Block(HEADING, number);
  heading.level = level;
  heading.lines.push(withoutHashes(line.text.slice(line.at + level)));
  return heading;
}

/** Hashes at the end do not count, where a space is in front of them. */
function withoutHashes(text: string): string {
  const trimmed = strip(text);
  let end = trimmed.length;
  while (end > 0 && trimmed.charCodeAt(end - 1) === HASH) end -= 1;
  if (end === 0) return '';
  return isSpaceOrEnd(trimmed.charCodeAt(end - 1)) ? strip(trimmed.slice(0, end)) : trimmed;
}

/** The level of the heading that a line below a paragraph makes of it; 0: none. */
export function underlineLevel(line: Line): i32 {
  const sign = line.peek();
  if (sign !== EQUALS && sign !== DASH) return 0;
  return runLength(line, sign) === stripEnd(line.rest).length ? (sign === EQUALS ? 1 : 2) : 0;
}

/** Three or more of the same sign, and white space. */
export function isRule(line: Line): bool {
  const sign = line.peek();
  if (sign !== STAR && sign !== DASH && sign !== UNDERSCORE) return false;
  let count = 0;
  for (let at = line.at; at < line.text.length; at += 1) {
    const unit = line.text.charCodeAt(at);
    if (unit === sign) count += 1;
    else if (!isSpaceOrEnd(unit)) return false;
  }
  return count >= 3;
}

/** Three or more backticks or tildes, and what stands behind them: takes the line. */
export function takeFence(line: Line, number: i32, indent: i32): Block | null {
  const sign = line.peek();
  if (sign !== BACKTICK && sign !== TILDE) return null;
  const length = runLength(line, sign);
  const info = strip(line.text.slice(line.at + length));
  if (length < 3 || (sign === BACKTICK && info.includes('`'))) return null;
  const code = new Block(CODE, number);
  code.fence = sign;
  code.fenceLength = length;
  code.fenceIndent = indent;
  code.info = info;
  return code;
}

export function isClosingFence(line: Line, code: Block): bool {
  if (line.indent > 3 || line.first !== code.fence) return false;
  const rest = strip(line.rest);
  if (rest.length < code.fenceLength) return false;
  for (let at = 0; at < rest.length; at += 1) if (rest.charCodeAt(at) !== code.fence) return false;
  return true;
}

/** The marker of an item; takes it and the white space that belongs to it. Only some items can end a paragraph. */
export function takeItem(line: Line, number: i32, indent: i32, endsParagraph: bool): Block | null {
  const item = new Block(ITEM, number);
  const width = readMarker(line, item);
  if (width === 0 || !isSpaceOrEnd(line.peek(width))) return null;
  const isEmpty = strip(line.text.slice(line.at + width)) === '';
  if (endsParagraph && (isEmpty || (isOrdered(item) && item.start !== 1))) return null;
  line.at += width;
  const spaces = line.indent;
  // Content that is far in is code inside of the item, which begins one column behind the marker.
  const inside = isEmpty || spaces > 4 ? 1 : spaces;
  line.takeColumns(inside);
  item.padding = indent + width + inside;
  return item;
}

export function isOrdered(block: Block): bool {
  return block.marker === DOT || block.marker === CLOSING;
}

/** A list that an item goes into. */
export function listOf(item: Block): Block {
  const list = new Block(LIST, item.firstLine);
  list.marker = item.marker;
  list.start = item.start;
  return list;
}

/** How wide the marker is; 0: there is none. */
function readMarker(line: Line, item: Block): i32 {
  const first = line.peek();
  if (first === DASH || first === PLUS || first === STAR) {
    item.marker = first;
    return 1;
  }
  let digits = 0;
  for (; isDigit(line.peek(digits)); digits += 1) {
    if (digits === 9) return 0;
    item.start = item.start * 10 + (line.peek(digits) - 0x30);
  }
  item.marker = line.peek(digits);
  return digits > 0 && isOrdered(item) ? digits + 1 : 0;
}

function runLength(line: Line, sign: i32): i32 {
  let length = 0;
  while (line.peek(length) === sign) length += 1;
  return length;
}

function isDigit(unit: i32): bool {
  return unit >= 0x30 && unit <= 0x39;
}

function isSpaceOrEnd(unit: i32): bool {
  return unit === 0x20 || unit === 0x09 || unit === -1;
}
