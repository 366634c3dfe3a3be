import type { PlainType } from '../types.ts';
import { type Codec, misfit, numberAt } from './codec.ts';
import type { Passage } from './passage.ts';
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
    lift: (_passage, values, at) => lift(numberAt(values, at)),
    lower: (_passage, value, out) => {
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
    lift: (_passage, values, at) => lift(BigInt(values[at] ?? 0n)),
    lower: (_passage, value, out) => {
      out.push(lower(value));
    },
  };
}

const CHAR: Codec = {
  size: 4,
  align: 4,
  flat: ['i32'],
  load: (passage, at) => charOf(passage, passage.view.getUint32(at, true)),
  store: ({ view }, at, value) => view.setUint32(at, codeOf(value), true),
  lift: (passage, values, at) => charOf(passage, numberAt(values, at) >>> 0),
  lower: (_passage, value, out) => {
    out.push(codeOf(value));
  },
};

function charOf(passage: Passage, code: number): string {
  // Boundary: a lone surrogate is not a character.
  if (isScalar(code)) return String.fromCodePoint(code);
  throw passage.trap('char', `0x${code.toString(16)} is no character`, 'a Unicode scalar value');
}

function codeOf(value: unknown): number {
  const code = typeof value === 'string' ? value.codePointAt(0) : undefined;
  if (code !== undefined && isScalar(code) && value === String.fromCodePoint(code)) return code;
  throw misfit('one character', value);
}

function isScalar(code: number): boolean {
  return code < 0xd800 || (code > 0xdfff && code < 0x11_0000);
}

export function plainCodec(type: PlainType): Codec {
  if (type === 'string') return TEXT;
  if (type === 'char') return CHAR;
  return type === 's64' || type === 'u64' ? bigCodec(BIG_NUMBERS[type]) : scalarCodec(NUMBERS[type]);
}
