/** The cases of a variant share core values: each has a type that can represent that of every case. */
import type { GuestValue, NumberType } from '../../instance/value.ts';

const SCRATCH = new DataView(new ArrayBuffer(8));

export function join(a: NumberType, b: NumberType): NumberType {
  if (a === b) return a;
  const isNarrow = (a === 'i32' || a === 'f32') && (b === 'i32' || b === 'f32');
  return isNarrow ? 'i32' : 'i64';
}

/** Joins the core values of all cases, position by position. */
export function joinAll(cases: readonly (readonly NumberType[])[]): readonly NumberType[] {
  const joined: NumberType[] = [];
  for (const flat of cases) {
    flat.forEach((type, index) => {
      const held = joined[index];
      joined[index] = held === undefined ? type : join(held, type);
    });
  }
  return joined;
}

type Turn = (value: GuestValue) => GuestValue;

/** How a case's own value becomes the shared one, by `own shared`. */
const INTO: Readonly<Record<string, Turn>> = {
  'f32 i32': (value) => bitsOfFloat(Number(value)),
  'i32 i64': (value) => BigInt(Number(value) >>> 0),
  'f32 i64': (value) => BigInt(bitsOfFloat(Number(value))),
  'f64 i64': (value) => {
    SCRATCH.setFloat64(0, Number(value));
    return SCRATCH.getBigUint64(0);
  },
};

/** And back. Only the low bits of a wider value count. */
const OUT_OF: Readonly<Record<string, Turn>> = {
  'f32 i32': (value) => floatOfBits(Number(value)),
  'i32 i64': (value) => Number(BigInt.asIntN(32, BigInt(value))),
  'f32 i64': (value) => floatOfBits(Number(BigInt.asUintN(32, BigInt(value)))),
  'f64 i64': (value) => {
    SCRATCH.setBigUint64(0, BigInt.asUintN(64, BigInt(value)));
    return SCRATCH.getFloat64(0);
  },
};

/** By position, what has to be done to a case's own values; null where none has to be changed. */
export type Turns = readonly (Turn | undefined)[] | null;

export function turnsInto(own: readonly NumberType[], shared: readonly NumberType[]): Turns {
  return turnsBy(INTO, own, shared);
}

export function turnsOutOf(own: readonly NumberType[], shared: readonly NumberType[]): Turns {
  return turnsBy(OUT_OF, own, shared);
}

function turnsBy(
  table: Readonly<Record<string, Turn>>,
  own: readonly NumberType[],
  shared: readonly NumberType[],
): Turns {
  const turns = own.map((type, index) => table[`${type} ${shared[index]}`]);
  return turns.every((turn) => turn === undefined) ? null : turns;
}

function bitsOfFloat(value: number): number {
  SCRATCH.setFloat32(0, value);
  return SCRATCH.getUint32(0);
}

function floatOfBits(bits: number): number {
  SCRATCH.setUint32(0, bits);
  return SCRATCH.getFloat32(0);
}
