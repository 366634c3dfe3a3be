import { readPlainConstant } from './constant.ts';
import type { Cursor } from './cursor.ts';
import { type Draft, readIndex, readLimitedCount, use } from './draft.ts';
import type { DataSegment } from './module.ts';
import { malformed, requireWithin } from './refusal.ts';

const ACTIVE = 0;
const PASSIVE = 1;
const ACTIVE_IN_MEMORY = 2;

/** The data count section: how many data segments will follow. */
export function readDataCount(cursor: Cursor, draft: Draft): void {
  const offset = cursor.at;
  use(draft, 'bulk-memory', offset);
  draft.dataCount = cursor.u32('the data count');
  requireWithin('dataSegments', draft.dataCount, draft.limits, offset);
}

export function readData(cursor: Cursor, draft: Draft): void {
  const offset = cursor.at;
  const count = readLimitedCount(cursor, draft, { key: 'dataSegments', before: 0, leastBytes: 2 });
  requireDataCount(draft, count, offset);
  for (let index = 0; index < count; index += 1) draft.data.push(readDataSegment(cursor, draft));
}

/** Refuses a module that counts data segments and has none. */
export function requireData(draft: Draft, offset: number): void {
  requireDataCount(draft, draft.data.length, offset);
}

function requireDataCount(draft: Draft, found: number, offset: number): void {
  if (draft.dataCount === undefined || draft.dataCount === found) return;
  throw malformed(`there are ${found} data segments, expected ${draft.dataCount} as counted before`, offset);
}

function readDataSegment(cursor: Cursor, draft: Draft): DataSegment {
  const offset = cursor.at;
  const flags = cursor.u32("a data segment's flags");
  if (flags > ACTIVE_IN_MEMORY) throw malformed(`a data segment has flags ${flags}, expected 0 to 2`, offset);
  const isPassive = flags === PASSIVE;
  if (isPassive) use(draft, 'bulk-memory', offset);
  const target = isPassive ? NOWHERE : readPlace(cursor, draft, flags);
  const length = cursor.u32("a data segment's length");
  const start = cursor.at;
  cursor.skip(length, 'a data segment');
  return { mode: isPassive ? 'passive' : 'active', ...target, start, end: cursor.at };
}

type Target = Pick<DataSegment, 'memory' | 'address'>;

const NOWHERE: Target = { memory: 0, address: undefined };

/** Where an active segment is copied to. */
function readPlace(cursor: Cursor, draft: Draft, flags: number): Target {
  const offset = cursor.at;
  let memory = 0;
  if (flags === ACTIVE_IN_MEMORY) memory = readIndex(cursor, 'memory', draft.memories.length);
  else if (flags === ACTIVE && draft.memories.length === 0) {
    throw malformed('a data segment has no memory, expected memory 0', offset);
  }
  return { memory, address: readPlainConstant(cursor, draft) };
}
