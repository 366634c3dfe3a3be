import type { FunctionType } from '../read/module.ts';

/** The types whose values may cross between guest and host. */
export type NumberType = 'i32' | 'i64' | 'f32' | 'f64';
export type ValueName = NumberType | 'v128' | 'funcref' | 'externref';
export type GuestValue = number | bigint;

/** A function's type, in names. */
export type Signature = { readonly params: readonly ValueName[]; readonly results: readonly ValueName[] };

const NAMES: ReadonlyMap<number, ValueName> = new Map([
  [0x7f, 'i32'],
  [0x7e, 'i64'],
  [0x7d, 'f32'],
  [0x7c, 'f64'],
  [0x7b, 'v128'],
  [0x70, 'funcref'],
  [0x6f, 'externref'],
]);

const NUMBER_TYPES: ReadonlySet<string> = new Set<NumberType>(['i32', 'i64', 'f32', 'f64']);

/** The JS type that a value of each number type has. */
export const JS_TYPES: Readonly<Record<NumberType, 'number' | 'bigint'>> = Object.freeze({
  i32: 'number',
  i64: 'bigint',
  f32: 'number',
  f64: 'number',
});

export function isNumberType(name: unknown): name is NumberType {
  return typeof name === 'string' && NUMBER_TYPES.has(name);
}

/** A function type of a module in names, frozen. */
export function nameSignature(type: FunctionType): Signature {
  return Object.freeze({ params: nameTypes(type.params), results: nameTypes(type.results) });
}

function nameTypes(types: readonly number[]): readonly ValueName[] {
  return Object.freeze(types.map(nameType));
}

function nameType(type: number): ValueName {
  const name = NAMES.get(type);
  if (name === undefined)
    throw new TypeError(`Cannot name value type: 0x${type.toString(16)} is none of ours`);
  return name;
}

/** `(i32, i64) -> f64`, for messages. */
export function writeSignature({ params, results }: Signature): string {
  const shown = results.length === 1 ? results[0] : `(${results.join(', ')})`;
  return `(${params.join(', ')}) -> ${shown}`;
}

export function isSameSignature(a: Signature, b: Signature): boolean {
  return isSameList(a.params, b.params) && isSameList(a.results, b.results);
}

function isSameList(a: readonly ValueName[], b: readonly ValueName[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

/** The value, a NaN as the one that is written NaN: how many bits of another survive the way to a guest is up to V8's tier. */
export function settleNaN(value: GuestValue): GuestValue {
  return Number.isNaN(value) ? Number.NaN : value;
}

/** Whether V8 would take `value` for `type` without changing it (floats may be rounded to f32). */
export function isValueOf(type: ValueName, value: unknown): value is GuestValue {
  if (type === 'f32' || type === 'f64') return typeof value === 'number';
  if (type === 'i32')
    return Number.isInteger(value) && Number(value) >= -0x8000_0000 && Number(value) <= 0xffff_ffff;
  if (type !== 'i64' || typeof value !== 'bigint') return false;
  return BigInt.asIntN(64, value) === value || BigInt.asUintN(64, value) === value;
}
