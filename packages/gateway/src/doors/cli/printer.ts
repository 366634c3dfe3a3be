import { once } from 'node:events';
import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';
type Sink = NodeJS.WritableStream;

/** Control characters, bidirectional overrides and invisible ones: a terminal or a reader would obey or miss them. */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The same text with everything that is not plain text spelled out. */
export function inert(text: string): string {
  // Boundary: names, messages and outputs come from callers and tools; the terminal must not obey them.
  return text.replace(ACTIVE, (char) =>
    char === '\n' || char === '\t' ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Writes for people and for programs; results to standard output, everything else to standard error. */
export class Printer {
  readonly json: boolean;
  readonly #out: Sink;
  readonly #err: Sink;
  readonly #colour: boolean;

  constructor(options: { out: Sink; err: Sink; json: boolean; colour: boolean }) {
    this.#out = options.out;
    this.#err = options.err;
    this.json = options.json;
    this.#colour = options.colour;
  }

  line(text = ''): void {
    this.#out.write(`${inert(text)}\n`);
  }

  /** A line that is coloured after its values were made inert. */
  styled(style: Style, text: string, rest = ''): void {
    this.#out.write(`${this.style(style, inert(text))}${inert(rest)}\n`);
  }

  /** To standard error: what is not the result. */
  note(lead: string, style?: Style, rest = ''): void {
    const styled = style === undefined ? inert(lead) : this.style(style, inert(lead));
    this.#err.write(`${styled}${inert(rest)}\n`);
  }

  /** One JSON document; nothing else is written to standard output then. */
  document(value: unknown): void {
    this.#out.write(`${JSON.stringify(value)}\n`);
  }

  /** Exact text that must not be changed (an export, a receipt); waits when the reader is slow. */
  async exact(text: string): Promise<void> {
    if (!this.#out.write(text)) await once(this.#out, 'drain');
  }

  /** Columns as wide as they need to be. */
  table(headings: readonly string[], rows: readonly (readonly string[])[]): void {
    const cells = rows.map((row) => row.map(inert));
    const widths = headings.map((heading, i) =>
      Math.max(heading.length, ...cells.map((row) => (row[i] ?? '').length)),
    );
    const format = (row: readonly string[]) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd();
    this.#out.write(`${this.style('dim', format(headings))}\n`);
    for (const row of cells) this.#out.write(`${format(row)}\n`);
  }

  style(style: Style, text: string): string {
    return this.#colour ? styleText(style, text) : text;
  }
}
