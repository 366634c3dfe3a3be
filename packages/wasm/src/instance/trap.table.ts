import type { WasmErrorCode } from '../error.ts';

export type TrapRow = {
  readonly trap: string;
  readonly code: WasmErrorCode;
  /** The probe as text. */
  readonly text: string;
  /** The probe's sections in hexadecimal: a module whose export `f` does nothing but trap like this. */
  readonly probe: string;
};

/** Every way a guest of our gate can trap. V8's message for each is learnt by running it, so no wording is assumed. */
export const TRAPS: readonly TrapRow[] = [
  {
    trap: 'an unreachable was reached',
    code: 'unreachable',
    text: '(func (export "f") unreachable)',
    probe: '01040160000003020100070501016600000a05010300000b',
  },
  {
    trap: 'a load past the memory',
    code: 'out-of-bounds',
    text: '(memory 0) (func (export "f") (drop (i32.load (i32.const 0))))',
    probe: '010401600000030201000503010000070501016600000a0a01080041002802001a0b',
  },
  {
    trap: 'a store past the memory',
    code: 'out-of-bounds',
    text: '(memory 0) (func (export "f") (i32.store (i32.const 0) (i32.const 0)))',
    probe: '010401600000030201000503010000070501016600000a0b010900410041003602000b',
  },
  {
    trap: 'a fill past the memory',
    code: 'out-of-bounds',
    text: '(memory 0) (func (export "f") (memory.fill (i32.const 0) (i32.const 0) (i32.const 1)))',
    probe: '010401600000030201000503010000070501016600000a0d010b00410041004101fc0b000b',
  },
  {
    trap: 'a copy past the memory',
    code: 'out-of-bounds',
    text: '(memory 0) (func (export "f") (memory.copy (i32.const 0) (i32.const 0) (i32.const 1)))',
    probe: '010401600000030201000503010000070501016600000a0e010c00410041004101fc0a00000b',
  },
  {
    trap: 'an init past a data segment',
    code: 'out-of-bounds',
    text: '(memory 0) (data "") (func (export "f") (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 1)))',
    probe: '010401600000030201000503010000070501016600000c01010a0e010c00410041004101fc0800000b0b03010100',
  },
  {
    trap: 'a read past the table',
    code: 'out-of-bounds',
    text: '(table 0 funcref) (func (export "f") (drop (table.get 0 (i32.const 0))))',
    probe: '01040160000003020100040401700000070501016600000a09010700410025001a0b',
  },
  {
    trap: 'a write past the table',
    code: 'out-of-bounds',
    text: '(table 0 funcref) (func (export "f") (table.set 0 (i32.const 0) (ref.null func)))',
    probe: '01040160000003020100040401700000070501016600000a0a0108004100d07026000b',
  },
  {
    trap: 'a fill past the table',
    code: 'out-of-bounds',
    text: '(table 0 funcref) (func (export "f") (table.fill 0 (i32.const 0) (ref.null func) (i32.const 1)))',
    probe: '01040160000003020100040401700000070501016600000a0d010b004100d0704101fc11000b',
  },
  {
    trap: 'a copy past the table',
    code: 'out-of-bounds',
    text: '(table 0 funcref) (func (export "f") (table.copy (i32.const 0) (i32.const 0) (i32.const 1)))',
    probe: '01040160000003020100040401700000070501016600000a0e010c00410041004101fc0e00000b',
  },
  {
    trap: 'an init past an element segment',
    code: 'out-of-bounds',
    text: '(table 0 funcref) (elem func) (func (export "f") (table.init 0 (i32.const 0) (i32.const 0) (i32.const 1)))',
    probe: '01040160000003020100040401700000070501016600000904010100000a0e010c00410041004101fc0c00000b',
  },
  {
    trap: 'a call past the table',
    code: 'out-of-bounds',
    text: '(table 0 funcref) (func (export "f") (call_indirect (i32.const 0)))',
    probe: '01040160000003020100040401700000070501016600000a0901070041001100000b',
  },
  {
    trap: 'a call of an empty element',
    code: 'indirect-call',
    text: '(table 1 funcref) (func (export "f") (call_indirect (i32.const 0)))',
    probe: '01040160000003020100040401700001070501016600000a0901070041001100000b',
  },
  {
    trap: 'a call of an element of another type',
    code: 'indirect-call',
    text: '(table 1 funcref) (elem (i32.const 0) 0) (func (export "f") (drop (call_indirect (result i32) (i32.const 0))))',
    probe: '0108026000006000017f03020100040401700001070501016600000907010041000b01000a0a01080041001101001a0b',
  },
  {
    trap: 'a tail call of an empty element',
    code: 'indirect-call',
    text: '(table 1 funcref) (func (export "f") (return_call_indirect (i32.const 0)))',
    probe: '01040160000003020100040401700001070501016600000a0901070041001300000b',
  },
  {
    trap: 'a 32-bit division by zero',
    code: 'arithmetic',
    text: '(func (export "f") (drop (i32.div_s (i32.const 1) (i32.const 0))))',
    probe: '01040160000003020100070501016600000a0a010800410141006d1a0b',
  },
  {
    trap: 'a 32-bit remainder by zero',
    code: 'arithmetic',
    text: '(func (export "f") (drop (i32.rem_s (i32.const 1) (i32.const 0))))',
    probe: '01040160000003020100070501016600000a0a010800410141006f1a0b',
  },
  {
    trap: 'a 64-bit division by zero',
    code: 'arithmetic',
    text: '(func (export "f") (drop (i64.div_u (i64.const 1) (i64.const 0))))',
    probe: '01040160000003020100070501016600000a0a01080042014200801a0b',
  },
  {
    trap: 'a 64-bit remainder by zero',
    code: 'arithmetic',
    text: '(func (export "f") (drop (i64.rem_u (i64.const 1) (i64.const 0))))',
    probe: '01040160000003020100070501016600000a0a01080042014200821a0b',
  },
  {
    trap: 'a 32-bit quotient that has no integer',
    code: 'arithmetic',
    text: '(func (export "f") (drop (i32.div_s (i32.const 0x80000000) (i32.const -1))))',
    probe: '01040160000003020100070501016600000a0e010c00418080808078417f6d1a0b',
  },
  {
    trap: 'a 64-bit quotient that has no integer',
    code: 'arithmetic',
    text: '(func (export "f") (drop (i64.div_s (i64.const 0x8000000000000000) (i64.const -1))))',
    probe: '01040160000003020100070501016600000a13011100428080808080808080807f427f7f1a0b',
  },
  {
    trap: 'a conversion of NaN',
    code: 'arithmetic',
    text: '(func (export "f") (drop (i32.trunc_f64_s (f64.const nan))))',
    probe: '01040160000003020100070501016600000a0f010d0044000000000000f87faa1a0b',
  },
  {
    trap: 'a conversion of infinity',
    code: 'arithmetic',
    text: '(func (export "f") (drop (i64.trunc_f32_u (f32.const inf))))',
    probe: '01040160000003020100070501016600000a0b010900430000807faf1a0b',
  },
];
