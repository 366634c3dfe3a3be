/*
 * Lines to blocks. Each line is first held against the blocks that are still open: a quote wants its sign, an item its
 * indentation. What is left of it begins new blocks, goes on with the last one, or ends it.
 */
import { Block, CODE, DOCUMENT, HEADING, ITEM, LIST, PARAGRAPH, QUOTE, RULE } from './block';
import {
  isClosingFence,
  isRule,
  listOf,
  takeFence,
  takeHeading,
  takeItem,
  underlineLevel,
} from './block-starts';
import { strip, stripStart } from './characters';
import { Line, linesOf } from './line';

const GREATER: i32 = 0x3e;
const CODE_INDENT: i32 = 4;
/** Signs of quotes and items that are nested deeper are text. */
const MOST_DEEP: i32 = 32;

export class BlockParser {
  private readonly document: Block = new Block(DOCUMENT, 1);
  private number: i32 = 0;
  private line: Line = new Line('');

  parse(text: string): Block {
    const lines = linesOf(text);
    for (let at = 0; at < lines.length; at += 1) {
      this.number = at + 1;
      this.line = new Line(lines[at]);
      this.readLine();
    }
    return this.document;
  }

  private readLine(): void {
    const open = this.openBlocks();
    let matched = 1;
    while (matched < open.length && this.goesOn(open[matched])) matched += 1;
    // A fence that ends its code has taken the line.
    if (matched < open.length && open[matched].isFenced && !open[matched].isOpen) return;
    const before = open[open.length - 1];
    let last = open[matched - 1];
    const isUnmatched = matched < open.length;
    if (last.kind === CODE) {
      this.addTo(last, this.line.rest);
      return;
    }
    const depth = matched;
    const begun = this.begin(last, depth, isUnmatched ? null : before);
    if (begun === null) return;
    if (begun !== last) {
      last = begun;
    } else if (isUnmatched && before.kind === PARAGRAPH && !this.line.isBlank) {
      // A paragraph goes on without the signs of the quotes and items that it is in.
      this.addTo(before, stripStart(this.line.rest));
      for (let at = matched; at < open.length; at += 1) open[at].lastLine = this.number;
      return;
    }
    for (let at = matched; at < open.length; at += 1) open[at].isOpen = false;
    this.addRest(last);
  }

  /** From the document to the innermost block that is still open. */
  private openBlocks(): Block[] {
    const open: Block[] = [this.document];
    for (let block = this.document; block.children.length > 0; ) {
      block = block.children[block.children.length - 1];
      if (!block.isOpen) break;
      open.push(block);
    }
    return open;
  }

  /** Whether a block has its share in this line, which is then taken. */
  private goesOn(block: Block): bool {
    const line = this.line;
    if (block.kind === LIST) return true;
    if (block.kind === QUOTE) return this.takeQuoteSign(block);
    if (block.kind === ITEM) {
      if (line.isBlank) {
        if (block.children.length === 0) return false;
        line.takeIndent();
        return true;
      }
      if (line.indent < block.padding) return false;
      line.takeColumns(block.padding);
      return true;
    }
    if (block.kind === PARAGRAPH) return !line.isBlank;
    if (block.kind === CODE) return block.isFenced ? this.isInFence(block) : this.isIndented();
    return false;
  }

  private takeQuoteSign(quote: Block): bool {
    const line = this.line;
    if (line.indent >= CODE_INDENT || line.first !== GREATER) return false;
    line.takeIndent();
    line.at += 1;
    line.takeColumns(1);
    quote.lastLine = this.number;
    return true;
  }

  private isInFence(code: Block): bool {
    if (isClosingFence(this.line, code)) {
      code.isOpen = false;
      code.lastLine = this.number;
      return false;
    }
    this.line.takeColumns(code.fenceIndent);
    return true;
  }

  private isIndented(): bool {
    const line = this.line;
    if (line.indent < CODE_INDENT && !line.isBlank) return false;
    line.takeColumns(CODE_INDENT);
    return true;
  }

  /**
   * Begins the blocks that the line begins, inside of the last one that goes on; gives the innermost, or null where nothing
   * of the line is left. `paragraph` is the one that the line would go on with.
   */
  private begin(last: Block, depth: i32, paragraph: Block | null): Block | null {
    const line = this.line;
    let parent = last;
    let isInParagraph = paragraph !== null && paragraph.kind === PARAGRAPH;
    for (let deep = depth; !line.isBlank; deep += 1) {
      const indent = line.indent;
      if (indent >= CODE_INDENT) {
        // It may go on with a paragraph, also from outside of the blocks that it is in.
        if (isInParagraph || (parent === last && this.lastOpen().kind === PARAGRAPH)) return parent;
        line.takeColumns(CODE_INDENT);
        return this.put(parent, new Block(CODE, this.number));
      }
      const from = line.at;
      line.takeIndent();
      if (deep < MOST_DEEP && line.peek() === GREATER) {
        line.at = from;
        const quote = new Block(QUOTE, this.number);
        this.takeQuoteSign(quote);
        parent = this.put(parent, quote);
        isInParagraph = false;
        continue;
      }
      if (this.beginLeaf(parent, indent, isInParagraph)) return null;
      const item = deep < MOST_DEEP ? takeItem(line, this.number, indent, isInParagraph) : null;
      if (item === null) {
        line.at = from;
        return parent;
      }
      parent = this.putItem(parent, item);
      isInParagraph = false;
    }
    return parent;
  }

  /** A block that is this one line, or begins with it and has none of it. */
  private beginLeaf(parent: Block, indent: i32, isInParagraph: bool): bool {
    const line = this.line;
    const heading = takeHeading(line, this.number);
    if (heading !== null) {
      this.put(parent, heading).isOpen = false;
      return true;
    }
    const fence = takeFence(line, this.number, indent);
    if (fence !== null) {
      this.put(parent, fence);
      return true;
    }
    const level = isInParagraph ? underlineLevel(line) : 0;
    if (level > 0) {
      this.underline(parent, level);
      return true;
    }
    if (!isRule(line)) return false;
    this.put(parent, new Block(RULE, this.number)).isOpen = false;
    return true;
  }

  /** Makes a heading of the paragraph that the line above ended with. */
  private underline(paragraph: Block, level: i32): void {
    const parent = this.parentOf(paragraph);
    const heading = new Block(HEADING, paragraph.firstLine);
    heading.level = level;
    heading.lastLine = this.number;
    heading.isOpen = false;
    for (let at = 0; at < paragraph.lines.length; at += 1) heading.lines.push(paragraph.lines[at]);
    parent.children[parent.children.length - 1] = heading;
  }

  private parentOf(block: Block): Block {
    let parent = this.document;
    for (let inner = parent; inner !== block; inner = inner.children[inner.children.length - 1])
      parent = inner;
    return parent;
  }

  private lastOpen(): Block {
    const open = this.openBlocks();
    return open[open.length - 1];
  }

  /** Puts a block behind the others; what was open there is ended by it. A leaf, or a list, is left for what it is in. */
  private put(into: Block, block: Block): Block {
    let parent = into;
    while (!parent.isContainer || (parent.kind === LIST && block.kind !== ITEM)) {
      parent.isOpen = false;
      parent = this.parentOf(parent);
    }
    if (parent.children.length > 0) parent.children[parent.children.length - 1].isOpen = false;
    parent.children.push(block);
    return block;
  }

  private putItem(into: Block, item: Block): Block {
    let parent = into;
    if (parent.kind === PARAGRAPH) {
      parent.isOpen = false;
      parent = this.parentOf(parent);
    }
    if (parent.kind === LIST && parent.marker === item.marker) return this.put(parent, item);
    return this.put(this.put(parent, listOf(item)), item);
  }

  private addRest(into: Block): void {
    const line = this.line;
    if (into.kind === PARAGRAPH && !line.isBlank) this.addTo(into, stripStart(line.rest));
    else if (into.kind === CODE) this.addTo(into, line.rest);
    else if (!line.isBlank)
      this.addTo(this.put(into, new Block(PARAGRAPH, this.number)), stripStart(line.rest));
  }

  private addTo(block: Block, text: string): void {
    block.lines.push(text);
    // Blank lines at the end of indented code are not of it.
    if (block.kind !== CODE || block.isFenced || strip(text) !== '') block.lastLine = this.number;
  }
}
