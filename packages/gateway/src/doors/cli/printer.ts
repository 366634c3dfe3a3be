import { once } from 'node:events';
import { styleText } from 'node:util';
import { CODES } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import { inert, safeJson } from '../../core/hostile-text.ts';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';
type Sink = NodeJS.WritableStream;
/** A name, and what there is to say of it. */
export type FactRow = readonly [name: string, text: string];
/** What a table shows; null as a dash. */
type Cell = string | number | null;

/** Writes for people or for programs; results to standard output, everything else to standard error. */
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
    this.#show(inert(text));
  }

  /** A line that is coloured after its values were made inert. */
  styled(style: Style, text: string, rest = ''): void {
    this.#show(`${this.style(style, inert(text))}${inert(rest)}`);
  }

  /** Text of several lines; those after the first are indented, so that none looks like a line of palisade. */
  block(lead: string, text: string, style: Style = 'dim'): void {
    const [first = '', ...rest] = text.split('\n');
    this.styled(style, lead, first);
    for (const line of rest) this.line(`${' '.repeat(Math.max(lead.length, 2))}${line}`);
  }

  /** A value as indented JSON, after a label. */
  value(value: unknown, lead = ''): void {
    this.#show(`${inert(lead)}${safeJson(value, 2)}`);
  }

  /** What a command found or did: its document with --json, else its text. Gives the status of success. */
  result(document: unknown, text: () => void): 0 {
    if (this.json) this.document(document);
    else text();
    return 0;
  }

  /** To standard error: what to run next. */
  next(command: string): void {
    this.note('→', 'cyan', ` ${command}`);
  }

  /** To standard error: what is not the result. */
  note(lead: string, style?: Style, rest = ''): void {
    const styled = style === undefined ? inert(lead) : this.style(style, inert(lead));
    this.#err.write(`${styled}${inert(rest)}\n`);
  }

  /** One JSON document on a line. */
  document(value: unknown): void {
    this.#out.write(`${safeJson(value)}\n`);
  }

  /** Exact text that must not be changed (an export, a receipt); waits when the reader is slow. */
  async exact(text: string): Promise<void> {
    if (!this.#out.write(text)) await once(this.#out, 'drain');
  }

  /** Columns as wide as they need to be; without a row, the sentence that says so, where one is given. */
  table(headings: readonly string[], rows: readonly (readonly Cell[])[], none?: string): void {
    if (rows.length === 0 && none !== undefined) {
      this.line(none);
      return;
    }
    const cells = rows.map((row) => row.map((cell) => inert(String(cell ?? '-'))));
    const widths = headings.map((heading, i) =>
      Math.max(heading.length, ...cells.map((row) => (row[i] ?? '').length)),
    );
    const format = (row: readonly string[]) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd();
    this.#show(this.style('dim', format(headings)));
    for (const row of cells) this.#show(format(row));
  }

  /** A title on a line of its own, after an empty line. */
  heading(title: string, rest = ''): void {
    this.line();
    this.styled('bold', title, rest);
  }

  /** Names, and what there is to say of each. */
  facts(rows: readonly FactRow[], width = 11): void {
    for (const [name, text] of rows) this.styled('dim', name.padEnd(width), text);
  }

  /** To standard error: the command for the next page, where there is one. */
  more(command: string, cursor: string | null): void {
    if (cursor !== null) this.note(`More: ${command} ${cursor}`);
  }

  style(style: Style, text: string): string {
    return this.#colour ? styleText(style, text) : text;
  }

  #show(text: string): void {
    if (!this.json) this.#out.write(`${text}\n`);
  }
}

/** Prints an error and its remedy, as text or as a document with details; gives the exit status of its code. */
export function printError(
  print: Printer,
  error: unknown,
  details: Readonly<Record<string, unknown>> = {},
): number {
  const { code, message, remedy } = error instanceof CodedError ? error : faultOf(error);
  const { kind, exitStatus } = CODES[code];
  const status = kind === 'refused' || kind === 'usage' ? 'refused' : 'failed';
  if (print.json) {
    print.document({ status, code, message, remedy, ...details });
  } else {
    print.note(kind === 'fault' ? kind : status, 'red', `  ${code}`);
    print.note(message);
    print.next(remedy);
  }
  return exitStatus;
}

function faultOf(error: unknown): CodedError {
  const message = error instanceof Error ? error.message : String(error);
  return new CodedError('gateway/fault', `Cannot finish: ${message}`, {
    remedy: 'Report this error together with the command that you ran.',
    cause: error,
  });
}

export type SourceProblem = {
  readonly file: string;
  /** Null for the file as a whole. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
  readonly hint?: string | null;
};

/** Prints what is wrong in a file, after its position, and what helps. */
export function printProblem(print: Printer, problem: SourceProblem, label = ''): void {
  const position = [problem.file, problem.line, problem.column].filter((part) => part !== null).join(':');
  print.line(`${position}: ${label}${problem.message}`);
  if (problem.hint) print.block('  ', problem.hint);
}

/** As in `1 problem` and `2 problems`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
