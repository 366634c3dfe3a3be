import type { Json } from '../../../../core/json.ts';
import type { Result, ValuePath } from '../../../../core/result.ts';

/** What holds the servers of a file: a key at its top, and below it a list or a map. */
export type Holder = { readonly key: string; readonly isList: boolean };

/**
 * One language of configuration files. An edit replaces a few parts of the text, so that everything else stays byte for
 * byte; the caller checks what it did by reading the result. An edit that is not possible throws `Uneditable`.
 */
export type FileFormat = {
  readonly name: string;
  /** Never throws, whatever the text is. */
  readonly read: (text: string) => Result<unknown>;
  /** The text with one more server. */
  readonly insert: (text: string, holder: Holder, name: string, value: Json) => string;
  /** The text with this value for a key of a server. */
  readonly put: (text: string, path: ValuePath, value: Json) => string;
  /** The text without the value at the path and without its key. */
  readonly drop: (text: string, path: ValuePath) => string;
  /** A server on one line, for a person to paste. */
  readonly line: (holder: Holder, name: string, value: Json) => string;
};

/** An edit that cannot be made in this text; the message says why. */
export class Uneditable extends Error {
  override readonly name = 'Uneditable';
}

export type Splice = { readonly start: number; readonly end: number; readonly text: string };

/** The text with each part replaced; parts do not overlap. */
export function splice(text: string, parts: readonly Splice[]): string {
  const fromBehind = [...parts].sort((a, b) => b.start - a.start || b.end - a.end);
  return fromBehind.reduce(
    (edited, { start, end, text: fresh }) => edited.slice(0, start) + fresh + edited.slice(end),
    text,
  );
}

/** How the lines of a text end. */
export function eolOf(text: string): '\r\n' | '\n' {
  return /^[^\n]*\r\n/.test(text) ? '\r\n' : '\n';
}

/** Where the line of an offset starts. */
export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The first offset of the line after an offset, or the end of the text. An offset that begins a line stays. */
export function lineEnd(text: string, offset: number): number {
  if (offset > 0 && text[offset - 1] === '\n') return offset;
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}

/** Whether only white space precedes an offset on its line. */
export function isFirstOnLine(text: string, offset: number): boolean {
  return /^[ \t]*$/.test(text.slice(lineStart(text, offset), offset));
}
