import type { PlainType } from '../types.ts';
import { type Codec, mismatch, numberAt } from './codec.ts';
import type { LiftLowerContext } from './lift-lower-context.ts';
import { BIG_NUMBERS, NUMBERS, type Scalar } from './scalar.table.ts';
import { TEXT } from './text.ts';

/** A type whose core value is a number. */
export function scalarCodec({ size, flat, load, store, lift, lower }: Scalar<number>): Codec {
  return {
    size,
    align: size,
    flat: [flat],
    load: ({ view }, at) => load(view, at),
    store: ({ view }, at, value) => store(view, at, lower(value)),
    lift: (_context, values, at) => lift(numberAt(values, at)),
    lower: (_context, value, out) => {
      out.push(lower(value));
    },
  };
}

function bigCodec({ size, flat, load, store, lift, lower }: Scalar<bigint>): Codec {
  return {
    size,
    align: size,
    flat: [flat],
    load: ({ view }, at) => load(view, at),
    store: ({ view }, at, value) => store(view, at, lower(value)),
    lift: (_context, values, at) => lift(BigInt(values[at] ?? 0n)),
    lower: (_context, value, out) => {
      out.push(lower(value));
    },
  };
}

const CHAR: Codec = {
  size: 4,
  align: 4,
  flat: ['i32'],
  load: (context, at) => charOf(context, context.view.getUint32(at, true)),
  store: ({ view }, at, value) => view.setUint32(at, codeOf(value), true),
  lift: (context, values, at) => charOf(context, numberAt(values, at) >>> 0),
  lower: (_context, value, out) => {
    out.push(codeOf(value));
  },
};

function charOf(context: LiftLowerContext, code: number): string {
  // Boundary: a lone surrogate is not a character.
  if (isScalar(code)) return String.fromCodePoint(code);
  throw context.trap('char', `0x${code.toString(16)} is not a character`, 'a Unicode scalar value');
}

function codeOf(value: unknown): number {
  const code = typeof value === 'string' ? value.codePointAt(0) : undefined;
  if (code !== undefined && isScalar(code) && value === String.fromCodePoint(code)) return code;
  throw mismatch('one character', value);
}

function isScalar(code: number): boolean {
  return code < 0xd800 || (code > 0xdfff && code < 0x11_0000);
}

export function plainCodec(type: PlainType): Codec {
  if (type === 'string') return TEXT;
  if (type === 'char') return CHAR;
  return type === 's64' || type === 'u64' ? bigCodec(BIG_NUMBERS[type]) : scalarCodec(NUMBERS[type]);
}
