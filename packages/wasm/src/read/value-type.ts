import type { FeatureName } from '../features.table.ts';
import type { Cursor } from './cursor.ts';
import { type Draft, use } from './draft.ts';
import type { ValueType } from './module.ts';
import { malformed, unsupported } from './refusal.ts';

export const I32 = 0x7f;
export const I64 = 0x7e;
export const F32 = 0x7d;
export const F64 = 0x7c;
export const V128 = 0x7b;
export const FUNCREF = 0x70;
export const EXTERNREF = 0x6f;

/** Types that belong to features outside the gate. */
const FOREIGN: ReadonlyMap<number, FeatureName> = new Map([
  ...[0x78, 0x77, 0x73, 0x72, 0x71, 0x6e, 0x6d, 0x6c, 0x6b, 0x6a].map((type) => [type, 'gc'] as const),
  ...[0x74, 0x69].map((type) => [type, 'exceptions'] as const),
  ...[0x75, 0x68].map((type) => [type, 'stack-switching'] as const),
  ...[0x67, 0x66, 0x62, 0x61].map((type) => [type, 'stringref'] as const),
  ...[0x65].map((type) => [type, 'shared-everything'] as const),
  ...[0x64, 0x63].map((type) => [type, 'function-references'] as const),
]);

/** The type of a parameter, a result, a local or a global. */
export function readValueType(cursor: Cursor, draft: Draft): ValueType {
  const offset = cursor.at;
  const type = cursor.u8('a value type');
  if (type >= F64 && type <= I32) return type;
  if (type === V128) use(draft, 'simd', offset);
  else if (type === FUNCREF || type === EXTERNREF) use(draft, 'reference-types', offset);
  else refuseType(type, 'a value type', offset);
  return type;
}

/** The element type of a table or an element segment. */
export function readReferenceType(cursor: Cursor, draft: Draft): ValueType {
  const offset = cursor.at;
  const type = cursor.u8('a reference type');
  return requireReferenceType(type, draft, offset);
}

/** The type of a null: like a reference type, but encoded as a number that may be padded. */
export function readHeapType(cursor: Cursor, draft: Draft): ValueType {
  const offset = cursor.at;
  const type = cursor.s33('a heap type');
  if (type >= 0) unsupported('function-references', offset);
  return requireReferenceType(type < -64 ? -1 : type & 0x7f, draft, offset);
}

function requireReferenceType(type: number, draft: Draft, offset: number): ValueType {
  if (type === EXTERNREF) use(draft, 'reference-types', offset);
  else if (type !== FUNCREF) refuseType(type, 'a reference type', offset);
  return type;
}

/** Refuses a byte that is not an allowed type, with the name of its proposal if it has one. */
export function refuseType(type: number, what: string, offset: number): never {
  const feature = FOREIGN.get(type);
  if (feature !== undefined) unsupported(feature, offset);
  throw malformed(`0x${(type & 0xff).toString(16)} is no ${what.slice(2)}, expected one`, offset);
}
