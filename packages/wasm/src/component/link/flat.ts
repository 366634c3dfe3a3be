/** The core types that the canonical ABI gives to functions of components. */
import type { FunctionType, ValueType } from '../../read/module.ts';
import { F32, F64, I32, I64 } from '../../read/value-type.ts';
import type { PlainType, WitFunction, WitType } from '../types.ts';

const MOST_PARAMS = 16;
const MOST_RESULTS = 1;
/** Above the maximum of params the exact number does not matter. */
const ENOUGH = MOST_PARAMS + 1;
const FLAGS_IN_ONE = 32;

const PLAIN: Readonly<Record<PlainType, readonly ValueType[]>> = {
  bool: [I32],
  s8: [I32],
  u8: [I32],
  s16: [I32],
  u16: [I32],
  s32: [I32],
  u32: [I32],
  s64: [I64],
  u64: [I64],
  f32: [F32],
  f64: [F64],
  char: [I32],
  string: [I32, I32],
};

export type Flat = {
  readonly type: FunctionType;
  /** Whether anything crosses in memory. */
  readonly needsMemory: boolean;
  /** Whether the host has to allocate in the guest. */
  readonly needsRealloc: boolean;
};

/** What a component calls: results that do not fit are written where a last parameter says. */
export function flattenLower({ params, result }: WitFunction): Flat {
  const lowered = flattenParams(params.map(([, type]) => type));
  const results = result === null ? [] : flatten(result);
  const isIndirect = results.length > MOST_RESULTS;
  const resultPoints = result !== null && pointsToMemory(result);
  return {
    type: isIndirect ? { params: [...lowered.flat, I32], results: [] } : { params: lowered.flat, results },
    needsMemory: lowered.needsMemory || isIndirect || resultPoints,
    needsRealloc: resultPoints,
  };
}

/** What a component is called by: results that do not fit are where its one result says. */
export function flattenLift({ params, result }: WitFunction): Flat {
  const lowered = flattenParams(params.map(([, type]) => type));
  const results = result === null ? [] : flatten(result);
  const isIndirect = results.length > MOST_RESULTS;
  return {
    type: { params: lowered.flat, results: isIndirect ? [I32] : results },
    needsMemory: lowered.needsMemory || isIndirect || (result !== null && pointsToMemory(result)),
    needsRealloc: lowered.needsMemory,
  };
}

function flattenParams(types: readonly WitType[]): { flat: readonly ValueType[]; needsMemory: boolean } {
  const flat = flattenAll(types);
  if (flat.length > MOST_PARAMS) return { flat: [I32], needsMemory: true };
  return { flat, needsMemory: types.some(pointsToMemory) };
}

function flattenAll(types: readonly WitType[]): readonly ValueType[] {
  const flat: ValueType[] = [];
  for (const type of types) {
    flat.push(...flatten(type));
    if (flat.length >= ENOUGH) return flat.slice(0, ENOUGH);
  }
  return flat;
}

function flatten(type: WitType): readonly ValueType[] {
  if (typeof type === 'string') return PLAIN[type];
  switch (type.kind) {
    case 'list':
      return [I32, I32];
    case 'record':
      return flattenAll(type.fields.map(([, field]) => field));
    case 'tuple':
      return flattenAll(type.elements);
    case 'flags':
      return new Array<ValueType>(Math.min(ENOUGH, Math.ceil(type.names.length / FLAGS_IN_ONE))).fill(I32);
    case 'variant':
      return flattenCases(type.cases.map(([, value]) => value));
    case 'option':
      return flattenCases([null, type.some]);
    case 'result':
      return flattenCases([type.ok, type.error]);
    default:
      return [I32];
  }
}

/** A discriminant and space for each case, with the wider type where they differ. */
function flattenCases(cases: readonly (WitType | null)[]): readonly ValueType[] {
  const flat: ValueType[] = [I32];
  for (const type of cases) {
    if (type === null) continue;
    flatten(type).forEach((each, index) => {
      const known = flat[index + 1];
      flat[index + 1] = known === undefined ? each : join(known, each);
    });
  }
  return flat.slice(0, ENOUGH);
}

function join(one: ValueType, other: ValueType): ValueType {
  if (one === other) return one;
  const isNarrow = (one === I32 || one === F32) && (other === I32 || other === F32);
  return isNarrow ? I32 : I64;
}

/** Whether a value contains a pointer anywhere. */
function pointsToMemory(type: WitType): boolean {
  if (typeof type === 'string') return type === 'string';
  switch (type.kind) {
    case 'list':
      return true;
    case 'record':
      return type.fields.some(([, field]) => pointsToMemory(field));
    case 'tuple':
      return type.elements.some(pointsToMemory);
    case 'variant':
      return type.cases.some(([, value]) => value !== null && pointsToMemory(value));
    case 'option':
      return pointsToMemory(type.some);
    case 'result':
      return [type.ok, type.error].some((each) => each !== null && pointsToMemory(each));
    default:
      return false;
  }
}
