import type { GuestValue, NumberType } from '../../instance/value.ts';
import { settleNaN } from '../../instance/value.ts';
import type { PlainType } from '../types.ts';
import { mismatch } from './codec.ts';

type Memory = DataView<ArrayBuffer>;

/** A type that is one core value. */
export type Scalar<V extends GuestValue = GuestValue> = {
  readonly size: number;
  readonly flat: NumberType;
  readonly load: (memory: Memory, at: number) => unknown;
  readonly store: (memory: Memory, at: number, core: V) => void;
  /** A core value as the type's own; bits beyond the type's are ignored. */
  readonly lift: (core: V) => unknown;
  /** The core value of the host's value, if it is of the type. */
  readonly lower: (value: unknown) => V;
};

/** Makes a check for whole numbers of a range. */
function whole(type: string, least: number, most: number): (value: unknown) => number {
  return (value) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw mismatch(type, value);
  };
}

function big(type: string, narrow: (value: bigint) => bigint): (value: unknown) => bigint {
  return (value) => {
    if (typeof value === 'bigint' && narrow(value) === value) return value;
    throw mismatch(type, value);
  };
}

function float(type: string): (value: unknown) => number {
  return (value) => {
    if (typeof value === 'number') return Number.isNaN(value) ? Number.NaN : value;
    throw mismatch(type, value);
  };
}

function toSigned64(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}

function toUnsigned64(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

/** A handle, which only its host knows the meaning of. */
export const HANDLE: Scalar<number> = {
  size: 4,
  flat: 'i32',
  load: (memory, at) => memory.getUint32(at, true),
  store: (memory, at, core) => memory.setUint32(at, core, true),
  lift: (core) => core >>> 0,
  lower: whole('a handle', 0, 0xffff_ffff),
};

export const NUMBERS: Readonly<
  Record<Exclude<PlainType, 's64' | 'u64' | 'char' | 'string'>, Scalar<number>>
> = {
  bool: {
    size: 1,
    flat: 'i32',
    load: (memory, at) => memory.getUint8(at) !== 0,
    store: (memory, at, core) => memory.setUint8(at, core),
    lift: (core) => core !== 0,
    lower: (value) => {
      if (typeof value === 'boolean') return value ? 1 : 0;
      throw mismatch('bool', value);
    },
  },
  s8: {
    size: 1,
    flat: 'i32',
    load: (memory, at) => memory.getInt8(at),
    store: (memory, at, core) => memory.setInt8(at, core),
    lift: (core) => (core << 24) >> 24,
    lower: whole('s8', -0x80, 0x7f),
  },
  u8: {
    size: 1,
    flat: 'i32',
    load: (memory, at) => memory.getUint8(at),
    store: (memory, at, core) => memory.setUint8(at, core),
    lift: (core) => core & 0xff,
    lower: whole('u8', 0, 0xff),
  },
  s16: {
    size: 2,
    flat: 'i32',
    load: (memory, at) => memory.getInt16(at, true),
    store: (memory, at, core) => memory.setInt16(at, core, true),
    lift: (core) => (core << 16) >> 16,
    lower: whole('s16', -0x8000, 0x7fff),
  },
  u16: {
    size: 2,
    flat: 'i32',
    load: (memory, at) => memory.getUint16(at, true),
    store: (memory, at, core) => memory.setUint16(at, core, true),
    lift: (core) => core & 0xffff,
    lower: whole('u16', 0, 0xffff),
  },
  s32: {
    size: 4,
    flat: 'i32',
    load: (memory, at) => memory.getInt32(at, true),
    store: (memory, at, core) => memory.setInt32(at, core, true),
    lift: (core) => core | 0,
    lower: whole('s32', -0x8000_0000, 0x7fff_ffff),
  },
  u32: {
    size: 4,
    flat: 'i32',
    load: (memory, at) => memory.getUint32(at, true),
    store: (memory, at, core) => memory.setUint32(at, core, true),
    lift: (core) => core >>> 0,
    lower: whole('u32', 0, 0xffff_ffff),
  },
  f32: {
    size: 4,
    flat: 'f32',
    load: (memory, at) => settleNaN(memory.getFloat32(at, true)),
    store: (memory, at, core) => memory.setFloat32(at, core, true),
    lift: settleNaN,
    lower: float('f32'),
  },
  f64: {
    size: 8,
    flat: 'f64',
    load: (memory, at) => settleNaN(memory.getFloat64(at, true)),
    store: (memory, at, core) => memory.setFloat64(at, core, true),
    lift: settleNaN,
    lower: float('f64'),
  },
};

export const BIG_NUMBERS: Readonly<Record<'s64' | 'u64', Scalar<bigint>>> = {
  s64: {
    size: 8,
    flat: 'i64',
    load: (memory, at) => memory.getBigInt64(at, true),
    store: (memory, at, core) => memory.setBigInt64(at, core, true),
    lift: toSigned64,
    lower: big('s64', toSigned64),
  },
  u64: {
    size: 8,
    flat: 'i64',
    load: (memory, at) => memory.getBigUint64(at, true),
    store: (memory, at, core) => memory.setBigUint64(at, core, true),
    lift: toUnsigned64,
    lower: big('u64', toUnsigned64),
  },
};
