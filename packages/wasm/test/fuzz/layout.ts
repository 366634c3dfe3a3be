/** Where the parts of a module are, as far as its bytes make sense. Broken modules have fewer parts, never an error. */
import { unsigned } from '../fixture/leb.ts';

export type Span = {
  /** Where its header starts: the id of a section, the size of a body. */
  readonly head: number;
  readonly start: number;
  readonly end: number;
};
export type SectionSpan = Span & { readonly id: number };

const HEADER_BYTES = 8;
const CODE = 10;

/** Reads a number of at most five bytes; -1 for none. `numberEnd` tells where it ends. */
export function numberAt(bytes: Uint8Array, at: number): number {
  let value = 0;
  let scale = 1;
  for (let next = at; next < at + 5; next += 1) {
    const byte = bytes[next];
    if (byte === undefined) return -1;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
    scale *= 128;
  }
  return -1;
}

/** Where the number that starts here ends. */
export function numberEnd(bytes: Uint8Array, at: number): number {
  let next = at;
  while (next < at + 4 && (bytes[next] ?? 0) >= 0x80) next += 1;
  return next + 1;
}

/** The sections that fit into the file, in its order. */
export function sectionsIn(bytes: Uint8Array): SectionSpan[] {
  const found: SectionSpan[] = [];
  for (let head = HEADER_BYTES; head < bytes.length; ) {
    const size = numberAt(bytes, head + 1);
    const start = numberEnd(bytes, head + 1);
    if (size < 0 || start + size > bytes.length) break;
    found.push({ id: bytes[head] ?? 0, head, start, end: start + size });
    head = start + size;
  }
  return found;
}

/** The bodies of the code section. */
export function bodiesIn(bytes: Uint8Array, section: Span): Span[] {
  const found: Span[] = [];
  const count = numberAt(bytes, section.start);
  let head = numberEnd(bytes, section.start);
  while (found.length < count && head < section.end) {
    const size = numberAt(bytes, head);
    const start = numberEnd(bytes, head);
    if (size < 0 || start + size > section.end) break;
    found.push({ head, start, end: start + size });
    head = start + size;
  }
  return found;
}

/** The code section, if there is one. */
export function codeSection(bytes: Uint8Array): SectionSpan | undefined {
  return sectionsIn(bytes).find(({ id }) => id === CODE);
}

/** The module with the content of a section replaced and its size set right. */
export function withSection(bytes: Uint8Array, span: SectionSpan, content: Uint8Array): Uint8Array {
  return concat([
    bytes.subarray(0, span.head),
    [span.id, ...unsigned(content.length)],
    content,
    bytes.subarray(span.end),
  ]);
}

/** The module with a body replaced and both sizes set right. */
export function withBody(
  bytes: Uint8Array,
  section: SectionSpan,
  body: Span,
  content: Uint8Array,
): Uint8Array {
  const code = concat([
    bytes.subarray(section.start, body.head),
    unsigned(content.length),
    content,
    bytes.subarray(body.end, section.end),
  ]);
  return withSection(bytes, section, code);
}

/** One array of many. */
export function concat(pieces: readonly ArrayLike<number>[]): Uint8Array {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
