import type { FeatureName } from '../features.table.ts';
import type { Cursor } from './cursor.ts';
import { type Draft, readLimitedCount, use } from './draft.ts';
import { malformed, requireWithin, unsupported } from './refusal.ts';
import { readReferenceType } from './value-type.ts';

export const PAGE_BYTES = 65_536;
/** What addresses of 32 bits can reach. */
const MOST_PAGES = 65_536;

const HAS_MAXIMUM = 1;
const SHARED = 2;
const ADDRESSES_OF_64_BITS = 4;
const CUSTOM_PAGE_SIZE = 8;
const INITIALISED_TABLE = 0x40;

type Extent = { readonly min: number; readonly max: number | undefined };

export function readTables(cursor: Cursor, draft: Draft): void {
  const before = draft.tables.length;
  const count = readLimitedCount(cursor, draft, { key: 'tables', before, leastBytes: 3 });
  for (let index = 0; index < count; index += 1) {
    if (cursor.bytes[cursor.at] === INITIALISED_TABLE) unsupported('function-references', cursor.at);
    readTable(cursor, draft, false);
  }
}

/** A table's type, added to the draft. All tables together start within the limit. */
export function readTable(cursor: Cursor, draft: Draft, imported: boolean): void {
  const start = cursor.at;
  requireWithin('tables', draft.tables.length + 1, draft.limits, start);
  const reference = readReferenceType(cursor, draft);
  const extent = readExtent(cursor, 'table', 'shared-everything');
  // Boundary: V8 makes a table at its full minimum at once; all of them are counted before it sees any.
  draft.tableElements += extent.min;
  requireWithin('tableElements', draft.tableElements, draft.limits, start);
  draft.tables.push({ start, end: cursor.at, reference, ...extent, imported });
  if (draft.tables.length > 1) use(draft, 'reference-types', start);
}

export function readMemories(cursor: Cursor, draft: Draft): void {
  const before = draft.memories.length;
  const count = readLimitedCount(cursor, draft, { key: 'memories', before, leastBytes: 2 });
  for (let index = 0; index < count; index += 1) readMemory(cursor, draft, false);
}

/** A memory's type, added to the draft. All memories together start within the limit. */
export function readMemory(cursor: Cursor, draft: Draft, imported: boolean): void {
  const start = cursor.at;
  requireWithin('memories', draft.memories.length + 1, draft.limits, start);
  const extent = readExtent(cursor, 'memory', 'threads');
  const highest = extent.max ?? extent.min;
  if (highest > MOST_PAGES) {
    throw malformed(`a memory has ${highest} pages, expected at most ${MOST_PAGES}`, start);
  }
  // Boundary: many small memories count like a large one.
  draft.memoryPages += extent.min;
  requireWithin('memoryBytes', draft.memoryPages * PAGE_BYTES, draft.limits, start);
  draft.memories.push({ start, end: cursor.at, ...extent, imported });
  if (draft.memories.length > 1) use(draft, 'multi-memory', start);
}

function readExtent(cursor: Cursor, what: 'table' | 'memory', whenShared: FeatureName): Extent {
  const offset = cursor.at;
  const flags = cursor.u8(`the limits of a ${what}`);
  if (flags < 0x10) {
    if (flags & SHARED) unsupported(whenShared, offset);
    if (flags & ADDRESSES_OF_64_BITS) unsupported('memory64', offset);
    if (flags & CUSTOM_PAGE_SIZE && what === 'memory') unsupported('custom-page-sizes', offset);
  }
  if (flags > HAS_MAXIMUM) {
    throw malformed(`the limits of a ${what} have flags 0x${flags.toString(16)}, expected 0 or 1`, offset);
  }
  const min = cursor.u32(`the minimum of a ${what}`);
  const max = flags & HAS_MAXIMUM ? cursor.u32(`the maximum of a ${what}`) : undefined;
  if (max !== undefined && max < min) {
    throw malformed(
      `a ${what} has minimum ${min} and maximum ${max}, expected no less than the minimum`,
      offset,
    );
  }
  return { min, max };
}
