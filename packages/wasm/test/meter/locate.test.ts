import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/instance/engine.ts';
import { locate } from '../../src/meter/locate.ts';
import { wat } from '../fixture/wat.ts';
import { refused } from '../instance/refused.ts';

/* V8 says where the module traps as it was submitted: the same byte must be found from where the metered one traps. */

const ADDED = '(i32.add (local.get 0) (i32.const 1))';
const PROGRAMS: readonly (readonly [what: string, text: string])[] = [
  ['in a leaf', '(func (export "f") (drop (i32.div_u (i32.const 1) (i32.const 0))))'],
  [
    'in a loop, behind branches and calls',
    `(func $leaf (param i32) (result i32) ${ADDED})
     (func $deep (param $n i32) (result i32) (local $i i32)
       (loop $again
         (local.set $i (call $leaf (local.get $i)))
         (br_if $again (i32.lt_u (local.get $i) (i32.const 9))))
       (if (result i32) (local.get $n)
         (then (i32.load offset=65536 (local.get $n)))
         (else (i32.const 1))))
     (func (export "f") (drop (call $deep (i32.const 1))))`,
  ],
  [
    'in a function that others pay for, which is exported too',
    `(func $inner (export "g") (param i32) (drop (i32.div_u (i32.const 1) (local.get 0))))
     (func $middle (param i32) (loop (call $inner (local.get 0))))
     (func (export "f") (call $middle (i32.const 0)))`,
  ],
  [
    'through a table, at a null entry',
    `(table 2 funcref) (type $t (func))
     (func (export "f") (local i64 f64) (nop) (call_indirect (type $t) (i32.const 1)))`,
  ],
  [
    'at a conversion, with locals that moved',
    `(func $c (param i32) (result i32) (local f64 i64) (local.set 1 (f64.const 1e30))
       (local.set 2 (i64.const 5)) (i32.trunc_f64_s (local.get 1)))
     (func (export "f") (drop (call $c (i32.const 1))) (drop (i32.const 5)))`,
  ],
  [
    'at an unreachable after a block',
    '(func $u (param i32) (block (br_if 0 (local.get 0)) (unreachable)) (unreachable)) (func (export "f") (call $u (i32.const 1)))',
  ],
];

const FRAME = /wasm-function\[\d+\]:0x([0-9a-f]+)/;

/** Where V8 says that the module trapped, the innermost first. */
function placesOfPlain(bytes: Uint8Array<ArrayBuffer>): readonly number[] {
  const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as { f: () => void };
  try {
    f();
  } catch (error) {
    const lines = String((error as Error).stack).split('\n');
    return lines.flatMap((line) => FRAME.exec(line)?.[1] ?? []).map((hex) => Number.parseInt(hex, 16));
  }
  throw new Error('it did not trap');
}

describe.each(['local', 'thread'] as const)('locate() in the form %s', (form) => {
  it.each(PROGRAMS)('finds the instructions of a trap %s', async (_, text) => {
    const bytes = wat(`(module (memory 1) ${text})`);
    const engine = createEngine({ form, deterministic: true });
    const instance = engine.instantiate(await engine.compile(bytes));
    const { places } = refused(() => instance.call('f'));
    expect(places.length).toBeGreaterThan(0);
    expect(engine.locate(bytes, places)).toEqual(placesOfPlain(bytes));
  });
});

it('locate() gives nothing for places outside of all functions', () => {
  const bytes = wat('(module (func (export "f") (unreachable)))');
  expect(locate(bytes, {}, [0, 9, 1_000_000])).toEqual([null, null, null]);
});
