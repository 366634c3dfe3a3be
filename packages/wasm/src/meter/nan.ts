/** Replaces a NaN on top of the stack by the canonical one, and leaves every other value unchanged. */
import { codeOf, VECTOR_BASE, VECTOR_PREFIX } from './opcodes.ts';
import type { Sink } from './sink.ts';

/** The type of the spare local by kind: f32, f64, f32x4, f64x2. */
export const NAN_TYPES: readonly number[] = [0, 0x7d, 0x7c, 0x7b, 0x7b];

const GET = codeOf('local.get');
const TEE = codeOf('local.tee');
const SELECT = codeOf('select');

const SCALARS: Readonly<Record<number, { readonly nan: readonly number[]; readonly equal: number }>> = {
  1: { nan: [codeOf('f32.const'), 0, 0, 0xc0, 0x7f], equal: codeOf('f32.eq') },
  2: { nan: [codeOf('f64.const'), 0, 0, 0, 0, 0, 0, 0xf8, 0x7f], equal: codeOf('f64.eq') },
};

const LANES: Readonly<Record<number, { readonly nan: readonly number[]; readonly equal: number }>> = {
  3: { nan: [0, 1, 2, 3].flatMap(() => [0, 0, 0xc0, 0x7f]), equal: codeOf('f32x4.eq') },
  4: { nan: [0, 1].flatMap(() => [0, 0, 0, 0, 0, 0, 0xf8, 0x7f]), equal: codeOf('f64x2.eq') },
};

/** A value is a NaN if it does not equal itself. `spare` is a local of the type of the value. */
export function writeCanonicalNan(write: Sink, kind: number, spare: number): void {
  const scalar = SCALARS[kind];
  const lanes = LANES[kind];
  write.byte(TEE);
  write.index(spare);
  if (scalar !== undefined) write.all(scalar.nan);
  if (lanes !== undefined) {
    writeVector(write, codeOf('v128.const'));
    write.all(lanes.nan);
  }
  for (let times = 0; times < 2; times += 1) {
    write.byte(GET);
    write.index(spare);
  }
  if (scalar !== undefined) write.all([scalar.equal, SELECT]);
  if (lanes !== undefined) {
    writeVector(write, lanes.equal);
    writeVector(write, codeOf('v128.bitselect'));
  }
}

function writeVector(write: Sink, code: number): void {
  write.byte(VECTOR_PREFIX);
  write.index(code - VECTOR_BASE);
}
