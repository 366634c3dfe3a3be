import type { SourcePosition } from './result.ts';

/** The line and column, counted from 1, of an index into a text. */
export function positionAt(text: string, index: number): SourcePosition {
  const before = text.slice(0, index);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: index - lineStart + 1 };
}

export function positionOfBadUtf8(bytes: Uint8Array): SourcePosition {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const repaired = Buffer.from(decoder.decode(bytes));
  const bad = repaired.findIndex((byte, i) => byte !== bytes[i]);
  // An incomplete character at the end is held back by `stream`.
  const text = decoder.decode(bytes.subarray(0, bad), { stream: true });
  return positionAt(text, text.length);
}
