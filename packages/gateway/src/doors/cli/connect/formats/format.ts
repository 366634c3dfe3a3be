import type { Json } from '../../../../core/json.ts';
import type { SourcePosition } from '../../../../core/result.ts';

/** The way to a value: keys of objects and numbers of list elements. */
export type Path = readonly (string | number)[];

/** What a text says, or the place where it stops making sense. */
export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly place: SourcePosition | null; readonly why: string };

/**
 * One language of configuration files. An edit is a few splices of the text, so that whatever is not meant stays byte for
 * byte; whether it did what was meant is for the caller to check, by reading the result.
 */
export type Format = {
  /** Never throws, whatever the text is. */
  readonly read: (text: string) => Parsed;
  /** The text with the value at the end of the path: in place of the old one, or as the last of its parent. */
  readonly put: (text: string, path: Path, value: Json) => string;
  /** The text without that value and its key. */
  readonly drop: (text: string, path: Path) => string;
};

/** An edit that this room does not know how to make. */
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

/** The spaces or tabs that one more level is indented by. */
export function indentOf(text: string): string {
  const [, found = '  '] = /^([ \t]+)\S/m.exec(text) ?? [];
  if (found.startsWith('\t')) return '\t';
  return ' '.repeat(Math.min(found.length, 8));
}

/** Where the line of an offset starts. */
export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The first offset of the line after an offset; the end where there is none. An offset that begins a line stays. */
export function lineEnd(text: string, offset: number): number {
  if (offset > 0 && text[offset - 1] === '\n') return offset;
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}

/** Whether nothing but white space stands on the line before an offset. */
export function isFirstOnLine(text: string, offset: number): boolean {
  return /^[ \t]*$/.test(text.slice(lineStart(text, offset), offset));
}
