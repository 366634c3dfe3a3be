/** Every operator that can make a NaN, in every kind of function: with `deterministic` its bits are always the same. */
import { describe, expect, it } from 'vitest';
import { meter } from '../../src/meter/meter.ts';
import { assemble, type Bytes, op } from '../fixture/builder.ts';
import { F32, F64, makesNaN, OPERATORS, type Operator, V128 } from '../fixture/opcodes.ts';

/** A NaN with a sign and a payload. */
const ODD = { f32: [1, 0, 0xc0, 0xff], f64: [1, 0, 0, 0, 0, 0, 0xf8, 0xff] };
const CANONICAL = { f32: [0, 0, 0xc0, 0x7f], f64: [0, 0, 0, 0, 0, 0, 0xf8, 0x7f] };
const NOTHING = { params: [], results: [] };

const repeated = (lane: Bytes) => Array.from({ length: 16 }, (_, at) => lane[at % lane.length] ?? 0);

/** The width of the floats an operator takes, which is not that of its result for conversions. */
function operandOf({ name, pops }: Operator): Bytes {
  const narrow = /promote/.test(name) || (/^f32/.test(name) && !/demote/.test(name));
  if (pops[0] === F32) return [0x43, ...ODD.f32];
  if (pops[0] === F64) return [0x44, ...ODD.f64];
  return op('v128.const', ...repeated(narrow ? ODD.f32 : ODD.f64));
}

/** Stores the result at 0. */
function storing(operator: Operator): Bytes {
  const [type] = operator.pushes;
  const store = type === F32 ? 'f32.store' : type === F64 ? 'f64.store' : 'v128.store';
  const operands = operator.pops.flatMap(() => operandOf(operator));
  return [...op('i32.const', 0), ...operands, ...op(operator.name), ...op(store, 0, 0)];
}

/** What must be stored then. */
function expected({ name, pushes }: Operator): Bytes {
  const lane = name.startsWith('f32') ? CANONICAL.f32 : CANONICAL.f64;
  if (pushes[0] !== V128) return lane;
  return /demote/.test(name) ? [...lane, ...lane, ...new Array(8).fill(0)] : repeated(lane);
}

const PLACES: Readonly<Record<string, (code: Bytes) => Bytes[]>> = {
  'an exported function': (code) => [code],
  'a small function that another one calls': (code) => [op('call', 1), code],
  'a function with a loop': (code) => [
    op('call', 1),
    [...op('loop', undefined), ...code, ...op('i32.const', 0), ...op('br_if', 0), ...op('end')],
  ],
  'an arm of an if': (code) => [
    op('call', 1),
    [...op('i32.const', 1), ...op('if', undefined), ...code, ...op('else'), ...code, ...op('end')],
  ],
};

function stored(bodies: readonly Bytes[], form: 'local' | 'thread', length: number): number[] {
  const { bytes } = meter(
    assemble({
      types: [NOTHING],
      memories: [{ min: 1 }],
      functions: bodies.map((code) => ({ type: 0, code })),
      exports: [
        { name: 'run', kind: 'function', index: 0 },
        { name: 'memory', kind: 'memory', index: 0 },
      ],
    }),
    { form, deterministic: true },
  );
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  (exports.run as () => void)();
  return [...new Uint8Array((exports.memory as WebAssembly.Memory).buffer, 0, length)];
}

describe.each(Object.entries(PLACES))('deterministic, in %s', (_where, place) => {
  it.each(
    OPERATORS.filter(({ name }) => makesNaN(name)).map((operator) => [operator.name, operator] as const),
  )('%s gives the canonical NaN', (_name, operator) => {
    const nan = expected(operator);
    for (const form of ['local', 'thread'] as const) {
      expect(stored(place(storing(operator)), form, nan.length)).toEqual(nan);
    }
  });
});
