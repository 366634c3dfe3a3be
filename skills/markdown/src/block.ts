export const DOCUMENT: i32 = 0;
export const QUOTE: i32 = 1;
export const LIST: i32 = 2;
export const ITEM: i32 = 3;
export const PARAGRAPH: i32 = 4;
export const HEADING: i32 = 5;
export const CODE: i32 = 6;
export const RULE: i32 = 7;

/** A block of a document, with what its kind needs of the rest. */
export class Block {
  readonly kind: i32;
  readonly children: Block[] = [];
  /** Lines of a paragraph, a heading or of code. */
  readonly lines: string[] = [];
  readonly firstLine: i32;
  lastLine: i32;
  isOpen: bool = true;
  /** Of a heading: 1 to 6. */
  level: i32 = 0;
  /** Of code between fences: their sign, how many of them, how far they are in, and what stands behind them. */
  fence: i32 = 0;
  fenceLength: i32 = 0;
  fenceIndent: i32 = 0;
  info: string = '';
  /** Of a list and its items: the sign of the marker, and where an ordered one begins. */
  marker: i32 = 0;
  start: i32 = 0;
  /** Of an item: how many columns its content is in. */
  padding: i32 = 0;

  constructor(kind: i32, line: i32) {
    this.kind = kind;
    this.firstLine = line;
    this.lastLine = line;
  }

  get isContainer(): bool {
    return this.kind <= ITEM;
  }

  get isFenced(): bool {
    return this.fence !== 0;
  }

  /** The last line of its content; blank lines behind a list belong to nobody. */
  get end(): i32 {
    if (this.kind !== LIST && this.kind !== ITEM) return this.lastLine;
    return this.children.length > 0 ? this.children[this.children.length - 1].end : this.firstLine;
  }

  /** Of a list: no blank line between its items, nor between the blocks of one. */
  get isTight(): bool {
    if (hasGap(this.children)) return false;
    for (let at = 0; at < this.children.length; at += 1) if (hasGap(this.children[at].children)) return false;
    return true;
  }
}

function hasGap(blocks: Block[]): bool {
  for (let at = 1; at < blocks.length; at += 1)
    if (blocks[at - 1].end + 1 < blocks[at].firstLine) return true;
  return false;
}
