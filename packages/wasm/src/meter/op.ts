/** The codes that the meter looks for and writes, by name. */
import { codeOf } from './opcodes.ts';

export const OP = {
  block: codeOf('block'),
  br: codeOf('br'),
  branchIf: codeOf('br_if'),
  branchTable: codeOf('br_table'),
  call: codeOf('call'),
  callIndirect: codeOf('call_indirect'),
  else: codeOf('else'),
  end: codeOf('end'),
  firstByLength: codeOf('memory.init'),
  globalGet: codeOf('global.get'),
  globalSet: codeOf('global.set'),
  i32Const: codeOf('i32.const'),
  i64Add: codeOf('i64.add'),
  i64And: codeOf('i64.and'),
  i64Const: codeOf('i64.const'),
  i64FromUnsigned: codeOf('i64.extend_i32_u'),
  i64GreaterEqual: codeOf('i64.ge_s'),
  i64LessEqual: codeOf('i64.le_u'),
  i64LessSigned: codeOf('i64.lt_s'),
  i64Or: codeOf('i64.or'),
  i64ShiftLeft: codeOf('i64.shl'),
  i64ShiftRight: codeOf('i64.shr_s'),
  i64ShiftRightUnsigned: codeOf('i64.shr_u'),
  i64Subtract: codeOf('i64.sub'),
  if: codeOf('if'),
  localGet: codeOf('local.get'),
  localSet: codeOf('local.set'),
  localTee: codeOf('local.tee'),
  loop: codeOf('loop'),
  memoryGrow: codeOf('memory.grow'),
  nop: codeOf('nop'),
  refFunc: codeOf('ref.func'),
  return: codeOf('return'),
  returnCall: codeOf('return_call'),
  returnCallIndirect: codeOf('return_call_indirect'),
  select: codeOf('select'),
  unreachable: codeOf('unreachable'),
} as const;

/** The block type "nothing": its byte, and the number that the walker reports for it. */
export const NOTHING = 0x40;
export const NO_TYPE = -NOTHING;
