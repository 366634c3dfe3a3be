import { readConstant } from './constant.ts';
import type { Cursor } from './cursor.ts';
import { type Draft, readCount, readIndex, readLimitedCount, use } from './draft.ts';
import type { ElementSegment, ValueType } from './module.ts';
import { malformed, requireWithin } from './refusal.ts';
import { FUNCREF, I32, readReferenceType } from './value-type.ts';

const NOT_ACTIVE = 1;
/** An active segment names its table; one that is not active is declarative. */
const EXPLICIT = 2;
const EXPRESSIONS = 4;
const MOST_FLAGS = 7;
/** `ref.null`, its type and `end`. */
const LEAST_EXPRESSION_BYTES = 3;

export function readElements(cursor: Cursor, draft: Draft): void {
  const count = readLimitedCount(cursor, draft, { key: 'elementSegments', before: 0, leastBytes: 3 });
  let entries = 0;
  for (let index = 0; index < count; index += 1) {
    const segment = readElementSegment(cursor, draft);
    entries += segment.count;
    // Boundary: V8 makes an object of each entry, whenever an instance is made or the segment is first used.
    requireWithin('tableElements', entries, draft.limits, cursor.at);
    draft.elements.push(segment);
  }
}

function readElementSegment(cursor: Cursor, draft: Draft): ElementSegment {
  const start = cursor.at;
  const flags = cursor.u32("an element segment's flags");
  if (flags > MOST_FLAGS) {
    throw malformed(`an element segment has flags ${flags}, expected at most ${MOST_FLAGS}`, start);
  }
  const mode = modeOf(flags);
  if (mode !== 'active') use(draft, mode === 'passive' ? 'bulk-memory' : 'reference-types', start);
  const table = mode === 'active' ? readPlace(cursor, draft, flags) : undefined;
  const type = readElementType(cursor, draft, flags);
  if (table !== undefined && table !== type) {
    throw malformed("an element segment has another type than its table, expected the table's", start);
  }
  return { mode, count: readEntries(cursor, draft, flags, type) };
}

function modeOf(flags: number): ElementSegment['mode'] {
  if ((flags & NOT_ACTIVE) === 0) return 'active';
  return flags & EXPLICIT ? 'declarative' : 'passive';
}

/** Reads where an active segment is copied to; returns the element type of that table. */
function readPlace(cursor: Cursor, draft: Draft, flags: number): ValueType {
  const offset = cursor.at;
  const index = flags & EXPLICIT ? readIndex(cursor, 'table', draft.tables.length) : 0;
  const table = draft.tables[index];
  if (table === undefined) throw malformed('an element segment has no table, expected table 0', offset);
  readConstant(cursor, draft, I32);
  return table.reference;
}

function readElementType(cursor: Cursor, draft: Draft, flags: number): ValueType {
  const isPlain = (flags & (NOT_ACTIVE | EXPLICIT)) === 0;
  if (isPlain) return FUNCREF;
  if (flags & EXPRESSIONS) return readReferenceType(cursor, draft);
  const offset = cursor.at;
  const kind = cursor.u8("an element segment's kind");
  if (kind !== 0) throw malformed(`an element segment has kind ${kind}, expected 0`, offset);
  return FUNCREF;
}

/** Reads past the elements of the segment and returns how many there are. */
function readEntries(cursor: Cursor, draft: Draft, flags: number, type: ValueType): number {
  if (flags & EXPRESSIONS) {
    const count = readCount(cursor, 'elements', LEAST_EXPRESSION_BYTES);
    for (let index = 0; index < count; index += 1) readConstant(cursor, draft, type);
    return count;
  }
  const count = readCount(cursor, 'elements', 1);
  for (let index = 0; index < count; index += 1) {
    draft.referenced[readIndex(cursor, 'function', draft.functions.length)] = 1;
  }
  return count;
}
