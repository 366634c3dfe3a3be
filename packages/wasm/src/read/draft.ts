import type { FeatureName } from '../features.table.ts';
import { requireFeature } from '../features.table.ts';
import type { Limits } from '../limits.ts';
import type { Cursor } from './cursor.ts';
import type {
  DataSegment,
  ElementSegment,
  Export,
  FunctionType,
  Global,
  Import,
  Memory,
  Table,
} from './module.ts';
import { malformed, requireWithin } from './refusal.ts';

/** What is known of a module while its sections are read, one after the other. */
export type Draft = {
  readonly limits: Limits;
  readonly features: Set<FeatureName>;
  readonly types: FunctionType[];
  readonly imports: Import[];
  importedFunctions: number;
  functions: Uint32Array;
  readonly tables: Table[];
  readonly memories: Memory[];
  readonly globals: Global[];
  readonly exports: Export[];
  start: number | undefined;
  readonly elements: ElementSegment[];
  readonly data: DataSegment[];
  /** The contents of the data count section, if there is one. */
  dataCount: number | undefined;
  bodies: Uint32Array;
  referenced: Uint8Array;
  /** The minima of all tables and of all memories so far. */
  tableElements: number;
  memoryPages: number;
  /** The types of the operands of the constant expression being read: one shared buffer, and how many. */
  readonly operands: Uint8Array;
  operandCount: number;
};

export function newDraft(limits: Limits): Draft {
  return {
    limits,
    features: new Set(),
    types: [],
    imports: [],
    importedFunctions: 0,
    functions: new Uint32Array(0),
    tables: [],
    memories: [],
    globals: [],
    exports: [],
    start: undefined,
    elements: [],
    data: [],
    dataCount: undefined,
    bodies: new Uint32Array(0),
    referenced: new Uint8Array(0),
    tableElements: 0,
    memoryPages: 0,
    operands: new Uint8Array(limits.nesting),
    operandCount: 0,
  };
}

/** Records that the module uses a feature, if the gate allows it. */
export function use(draft: Draft, feature: FeatureName, offset: number): void {
  if (draft.features.has(feature)) return;
  requireFeature(feature, offset);
  draft.features.add(feature);
}

/** A count of entries of at least `leastBytes` each: no more than fit into the bytes that are left. */
export function readCount(cursor: Cursor, what: string, leastBytes: number): number {
  const offset = cursor.at;
  const count = cursor.u32('a count');
  // Boundary: a count causes no memory or time out of proportion to the file's bytes.
  if (count * leastBytes > cursor.left) {
    throw malformed(`${cursor.left} bytes cannot hold ${count} ${what}, expected fewer`, offset);
  }
  return count;
}

/** Like readCount, for entries that a limit counts; `before` is how many there are already. */
export function readLimitedCount(
  cursor: Cursor,
  draft: Draft,
  {
    key,
    before,
    leastBytes,
  }: { readonly key: keyof Limits; readonly before: number; readonly leastBytes: number },
): number {
  const offset = cursor.at;
  const count = readCount(cursor, key, leastBytes);
  requireWithin(key, before + count, draft.limits, offset);
  return count;
}

/** An index into a space of `count` entries. */
export function readIndex(cursor: Cursor, what: string, count: number): number {
  const offset = cursor.at;
  const index = cursor.u32('an index');
  // Boundary: an index names something that exists.
  if (index >= count) throw malformed(`${what} ${index} does not exist, expected one of ${count}`, offset);
  return index;
}

/** A name of bounded length in strict UTF-8. */
export function readName(cursor: Cursor, limits: Limits, what: string): string {
  const offset = cursor.at;
  const length = cursor.u32(what);
  requireWithin('nameBytes', length, limits, offset);
  return cursor.text(length, what);
}
