/* What stands in a paragraph or a heading: emphasis, code, links, breaks. Everything else is text, tags included. */

import { joined } from '@palisade/guest/assembly';
import { isAsciiPunctuation, strip } from './characters';
import { pairRuns, Run } from './emphasis';
import { entityAt } from './entity';
import { escaped } from './escape';
import { autolinkAt, safeUrl, Target, targetAt } from './link';

const NEW_LINE: i32 = 0x0a;
const BANG: i32 = 0x21;
const AMPERSAND: i32 = 0x26;
const STAR: i32 = 0x2a;
const LESS: i32 = 0x3c;
const OPEN: i32 = 0x5b;
const BACKSLASH: i32 = 0x5c;
const CLOSE: i32 = 0x5d;
const UNDERSCORE: i32 = 0x5f;
const BACKTICK: i32 = 0x60;

/** A bracket that may be the beginning of a link: its piece, and how many runs were there before it. */
class Bracket {
  readonly piece: i32;
  readonly runs: i32;
  readonly isImage: bool;
  isActive: bool = true;

  constructor(piece: i32, runs: i32, isImage: bool) {
    this.piece = piece;
    this.runs = runs;
    this.isImage = isImage;
  }
}

/** The HTML of inline text. */
export function inlineHtml(text: string): string {
  return new Inline(text, false).parse();
}

/** The same without tags and escapes. */
export function inlineText(text: string): string {
  return new Inline(text, true).parse();
}

class Inline {
  private readonly text: string;
  private readonly isPlain: bool;
  private at: i32 = 0;
  private readonly pieces: string[] = [];
  private readonly runs: Run[] = [];
  private readonly brackets: Bracket[] = [];
  /** Lengths of backticks that are known to come no more. */
  private readonly missing: Set<i32> = new Set<i32>();

  constructor(text: string, isPlain: bool) {
    this.text = text;
    this.isPlain = isPlain;
  }

  parse(): string {
    let from = 0;
    while (this.at < this.text.length) {
      const start = this.at;
      const unit = this.text.charCodeAt(start) as i32;
      if (!isSpecial(unit)) {
        this.at += 1;
        continue;
      }
      if (start > from) this.put(this.text.slice(from, start));
      this.special(unit);
      from = this.at;
    }
    if (from < this.text.length) this.put(this.text.slice(from));
    pairRuns(this.runs, 0, this.pieces, this.isPlain);
    return joined(this.pieces);
  }

  private special(unit: i32): void {
    if (unit === BACKSLASH) this.backslash();
    else if (unit === BACKTICK) this.codeSpan();
    else if (unit === STAR || unit === UNDERSCORE) this.run(unit);
    else if (unit === OPEN || unit === BANG) this.open(unit === BANG);
    else if (unit === CLOSE) this.close();
    else if (unit === LESS) this.autolink();
    else if (unit === AMPERSAND) this.entity();
    else this.lineBreak();
  }

  /** Text, which is escaped. */
  private put(text: string): void {
    this.pieces.push(this.isPlain ? text : escaped(text));
  }

  private tag(html: string): void {
    if (!this.isPlain) this.pieces.push(html);
  }

  private backslash(): void {
    const next = this.peek(1);
    if (next === NEW_LINE) {
      this.tag('<br />');
      this.at += 1;
    } else if (isAsciiPunctuation(next)) {
      this.put(this.text.charAt(this.at + 1));
      this.at += 2;
    } else {
      this.put('\\');
      this.at += 1;
    }
  }

  private codeSpan(): void {
    const from = this.at;
    const length = this.runLength(BACKTICK);
    this.at += length;
    if (!this.missing.has(length)) {
      for (let at = this.text.indexOf('`', this.at); at >= 0; at = this.text.indexOf('`', at)) {
        let end = at + 1;
        while (end < this.text.length && this.text.charCodeAt(end) === BACKTICK) end += 1;
        if (end - at === length) {
          this.code(this.text.slice(this.at, at));
          this.at = end;
          return;
        }
        at = end;
      }
      this.missing.add(length);
    }
    this.put(this.text.slice(from, this.at));
  }

  /** One space at each end is for those whose code begins or ends with a backtick. */
  private code(raw: string): void {
    const line = raw.replaceAll('\n', ' ');
    const isPadded = line.length > 1 && line.startsWith(' ') && line.endsWith(' ') && strip(line) !== '';
    this.tag('<code>');
    this.put(isPadded ? line.slice(1, line.length - 1) : line);
    this.tag('</code>');
  }

  private run(sign: i32): void {
    const length = this.runLength(sign);
    this.runs.push(new Run(this.text, this.at, this.at + length, this.pieces.length));
    this.pieces.push('');
    this.at += length;
  }

  private open(isImage: bool): void {
    if (isImage && this.peek(1) !== OPEN) {
      this.put('!');
      this.at += 1;
      return;
    }
    this.brackets.push(new Bracket(this.pieces.length, this.runs.length, isImage));
    this.pieces.push(isImage ? '![' : '[');
    this.at += isImage ? 2 : 1;
  }

  private close(): void {
    const bracket = this.brackets.length > 0 ? this.brackets.pop() : null;
    const target = bracket !== null ? this.targetOf(bracket) : null;
    if (bracket === null || target === null) {
      this.put(']');
      this.at += 1;
      return;
    }
    pairRuns(this.runs, bracket.runs, this.pieces, this.isPlain);
    this.pieces[bracket.piece] = '';
    if (!bracket.isImage) this.link(bracket.piece, target);
    this.at = target.end;
  }

  private targetOf(bracket: Bracket): Target | null {
    return bracket.isActive && this.peek(1) === 0x28 ? targetAt(this.text, this.at + 1) : null;
  }

  /** A link, or its text alone where it leads to no place that is safe; there is no link in a link. */
  private link(piece: i32, target: Target): void {
    for (let at = 0; at < this.brackets.length; at += 1)
      if (!this.brackets[at].isImage) this.brackets[at].isActive = false;
    const html = linkTag(target);
    if (html === '' || this.isPlain) return;
    this.pieces[piece] = html;
    this.pieces.push('</a>');
  }

  private autolink(): void {
    const target = autolinkAt(this.text, this.at);
    const html = target === null ? '' : linkTag(target);
    if (target === null || html === '') {
      this.put('<');
      this.at += 1;
      return;
    }
    this.tag(html);
    this.put(this.text.slice(this.at + 1, target.end - 1));
    this.tag('</a>');
    this.at = target.end;
  }

  private entity(): void {
    const entity = entityAt(this.text, this.at);
    this.put(entity === null ? '&' : entity.text);
    this.at = entity === null ? this.at + 1 : entity.end;
  }

  /** Two spaces in front of it make it one that is seen; others are gone. */
  private lineBreak(): void {
    let spaces = 0;
    while (spaces < this.at && this.text.charCodeAt(this.at - 1 - spaces) === 0x20) spaces += 1;
    const last = this.pieces.length - 1;
    // The spaces end the piece before, which is text, or nothing was before.
    if (spaces > 0 && last >= 0)
      this.pieces[last] = this.pieces[last].slice(0, this.pieces[last].length - spaces);
    if (spaces >= 2) this.tag('<br />');
    this.pieces.push('\n');
    this.at += 1;
  }

  private runLength(sign: i32): i32 {
    let end = this.at;
    while (end < this.text.length && this.text.charCodeAt(end) === sign) end += 1;
    return end - this.at;
  }

  private peek(ahead: i32): i32 {
    const at = this.at + ahead;
    return at < this.text.length ? this.text.charCodeAt(at) : -1;
  }
}

/** Empty where the link leads to no place that is safe. */
function linkTag(target: Target): string {
  const url = safeUrl(target.url);
  if (url === '') return '';
  const title = target.title === '' ? '' : ` title="${escaped(target.title)}"`;
  return `<a href="${escaped(url)}"${title}>`;
}

function isSpecial(unit: i32): bool {
  if (unit === NEW_LINE || unit === BANG || unit === AMPERSAND || unit === STAR || unit === LESS) return true;
  return (unit >= OPEN && unit <= CLOSE) || unit === UNDERSCORE || unit === BACKTICK;
}
