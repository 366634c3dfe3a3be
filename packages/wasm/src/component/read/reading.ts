import { WasmError } from '../../error.ts';
import type { Limits } from '../../limits.ts';
import type { Cursor } from '../../read/cursor.ts';
import { readCount, readName } from '../../read/draft.ts';

/** Components in components and types in types; wit-component writes three. */
const MOST_DEPTH = 16;
/** Entries of all lists of a component together; a large one has a few thousand, and each takes some hundred bytes here. */
const MOST_ENTRIES = 100_000;

/** What the readers of sections share: the limits, and how many entries are still allowed. */
export type Reading = { readonly limits: Limits; entries: number };

export function newReading(limits: Limits): Reading {
  return { limits, entries: MOST_ENTRIES };
}

/** Reads a list of entries of at least `leastBytes` each. */
export function readList<Item>(
  cursor: Cursor,
  reading: Reading,
  leastBytes: number,
  read: (cursor: Cursor, reading: Reading) => Item,
): Item[] {
  const offset = cursor.at;
  const count = readCount(cursor, 'entries', leastBytes);
  countEntries(reading, count, offset);
  const items = new Array<Item>(count);
  for (let index = 0; index < count; index += 1) items[index] = read(cursor, reading);
  return items;
}

/** Counts entries before they are made. */
export function countEntries(reading: Reading, count: number, offset: number): void {
  reading.entries -= count;
  // Boundary: an entry takes far more memory here than in the file; all of them together are bounded.
  if (reading.entries >= 0) return;
  const message = `Cannot read component: it has more than ${MOST_ENTRIES} entries, expected fewer`;
  throw new WasmError('limit', message, { offset, detail: 'component-entries' });
}

export function readText(cursor: Cursor, reading: Reading): string {
  return readName(cursor, reading.limits, 'a name');
}

/** Refuses deeper nesting than any tool produces, so that the recursion of the readers is bounded. */
export function requireDepth(depth: number, offset: number): void {
  // Boundary: a file cannot exhaust the stack of the reader.
  if (depth <= MOST_DEPTH) return;
  const message = `Cannot read component: it nests ${depth} deep, expected at most ${MOST_DEPTH}`;
  throw new WasmError('limit', message, { offset, detail: 'component-depth' });
}

/** The error for what the component model has and we do not support, by name. */
export function refused(name: string, offset: number): WasmError {
  const message = `Cannot link component: it uses "${name}", expected only what a world of ours can have`;
  return new WasmError('feature', message, { offset, detail: name });
}
