const SPACE: i32 = 0x20;
const TAB: i32 = 0x09;
const FEED: i32 = 0x0a;
const RETURN: i32 = 0x0d;

/** The lines of a text without what ends them: a line feed, a carriage return, or both. */
export function linesOf(text: string): string[] {
  const lines: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit !== FEED && unit !== RETURN) continue;
    lines.push(text.slice(from, at));
    if (unit === RETURN && at + 1 < text.length && text.charCodeAt(at + 1) === FEED) at += 1;
    from = at + 1;
  }
  if (from < text.length) lines.push(text.slice(from));
  return lines;
}

/** A line that is read from the front. All that was taken is one column wide, since tabs become spaces as they are taken. */
export class Line {
  text: string;
  at: i32 = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The unit so far ahead; -1 behind the end. */
  peek(ahead: i32 = 0): i32 {
    const at = this.at + ahead;
    return at < this.text.length ? this.text.charCodeAt(at) : -1;
  }

  /** How many columns of white space come next. */
  get indent(): i32 {
    let column = this.at;
    for (let at = this.at; at < this.text.length; at += 1) {
      const unit = this.text.charCodeAt(at);
      if (unit === SPACE) column += 1;
      else if (unit === TAB) column += 4 - (column & 3);
      else break;
    }
    return column - this.at;
  }

  get isBlank(): bool {
    for (let at = this.at; at < this.text.length; at += 1) {
      const unit = this.text.charCodeAt(at);
      if (unit !== SPACE && unit !== TAB) return false;
    }
    return true;
  }

  /** The first unit that is no white space; -1 where there is none. */
  get first(): i32 {
    for (let at = this.at; at < this.text.length; at += 1) {
      const unit = this.text.charCodeAt(at);
      if (unit !== SPACE && unit !== TAB) return unit;
    }
    return -1;
  }

  /** Takes so many columns of white space, or as many as there are. */
  takeColumns(columns: i32): void {
    for (let left = columns; left > 0; left -= 1) {
      if (this.peek() === TAB) this.expand();
      if (this.peek() !== SPACE) return;
      this.at += 1;
    }
  }

  takeIndent(): void {
    this.takeColumns(this.indent);
  }

  /** What was not taken. */
  get rest(): string {
    return this.text.slice(this.at);
  }

  private expand(): void {
    const spaces = ' '.repeat(4 - (this.at & 3));
    this.text = this.text.slice(0, this.at) + spaces + this.text.slice(this.at + 1);
  }
}
