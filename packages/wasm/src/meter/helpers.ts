/**
 * Functions that replace the operations whose work grows with an operand. Each takes the operands and the counter, pays
 * for the length, stops the guest if that is too much, and then does the operation. An operation that is going to fail
 * anyway, because its length exceeds the memory or the table, pays no more than its base.
 */
import { BY_LENGTH, type LengthOperator } from '../costs.table.ts';
import { PAGE_BYTES } from '../read/extents.ts';
import type { FunctionType } from '../read/module.ts';
import { I32, I64 } from '../read/value-type.ts';
import { stopIfNegative } from './code.ts';
import { NOTHING, OP } from './op.ts';
import { CODE_OF, codeOf, MISC_BASE, MISC_PREFIX } from './opcodes.ts';
import type { Plan } from './plan.ts';
import { Sink } from './sink.ts';

const PAGE_SHIFT = 16;

const NAMES: ReadonlyMap<number, LengthOperator> = new Map(
  (Object.keys(BY_LENGTH) as LengthOperator[]).map((name) => [codeOf(name), name]),
);

type Operation = { readonly code: number; readonly first: number; readonly second: number };

/** The type of the helper: the operands and the counter in, the result and the counter out. */
export function helperType(plan: Plan, code: number, first: number): FunctionType {
  const table = plan.module.tables[first]?.reference ?? 0;
  switch (NAMES.get(code)) {
    case 'memory.grow':
      return { params: [I32, I64], results: [I32, I64] };
    case 'table.grow':
      return { params: [table, I32, I64], results: [I32, I64] };
    case 'table.fill':
      return { params: [I32, table, I32, I64], results: [I64] };
    default:
      return { params: [I32, I32, I32, I64], results: [I64] };
  }
}

/** The body of the helper, with its (empty) locals. */
export function helperBody(plan: Plan, operation: Operation): Uint8Array {
  const write = new Sink(128);
  write.byte(0);
  const name = NAMES.get(operation.code);
  if (name === 'memory.grow') writeGrow(write, plan, operation, { length: 0, isMemory: true });
  else if (name === 'table.grow') writeGrow(write, plan, operation, { length: 1, isMemory: false });
  else if (name !== undefined) writeBulk(write, plan, operation, name);
  write.byte(OP.end);
  return write.taken();
}

function writeBulk(write: Sink, plan: Plan, operation: Operation, name: LengthOperator): void {
  const [length, counter] = [2, 3];
  const isMemory = name.startsWith('memory');
  // The target index comes first in a copy and last in an init.
  const target = name.endsWith('init') ? operation.second : operation.first;
  pushLength(write, length);
  pushSize(write, target, isMemory);
  write.byte(OP.i64LessEqual);
  write.byte(OP.if);
  write.byte(NOTHING);
  payLength(write, { length, counter, shift: BY_LENGTH[name].shift });
  write.byte(OP.end);
  write.all([OP.localGet, counter]);
  stopIfNegative(write, counter, plan.counter);
  write.all([OP.localGet, 0, OP.localGet, 1, OP.localGet, 2]);
  writeOperation(write, operation);
  write.all([OP.localGet, counter]);
}

type Growth = { readonly length: number; readonly isMemory: boolean };

/** A grow within the limit of all memories or tables pays and grows; any other fails as the specification requires. */
function writeGrow(write: Sink, plan: Plan, operation: Operation, { length, isMemory }: Growth): void {
  const counter = length + 1;
  const { limits, module } = plan;
  const budget = isMemory ? Math.floor(limits.memoryBytes / PAGE_BYTES) : limits.tableElements;
  const count = isMemory ? module.memories.length : module.tables.length;
  pushLength(write, length);
  for (let index = 0; index < count; index += 1) {
    pushCount(write, index, isMemory);
    write.byte(OP.i64Add);
  }
  write.byte(OP.i64Const);
  write.signed(budget);
  write.byte(OP.i64LessEqual);
  write.byte(OP.if);
  write.byte(NOTHING);
  payLength(write, { length, counter, shift: BY_LENGTH[isMemory ? 'memory.grow' : 'table.grow'].shift });
  write.all([OP.localGet, counter]);
  stopIfNegative(write, counter, plan.counter);
  for (let operand = 0; operand <= length; operand += 1) write.all([OP.localGet, operand]);
  writeOperation(write, operation);
  write.all([OP.localGet, counter, OP.return, OP.end]);
  write.all([OP.localGet, counter]);
  stopIfNegative(write, counter, plan.counter);
  write.all([OP.i32Const, 0x7f, OP.localGet, counter]);
}

function pushLength(write: Sink, length: number): void {
  write.all([OP.localGet, length, OP.i64FromUnsigned]);
}

/** Pushes the pages of a memory or the elements of a table. */
function pushCount(write: Sink, index: number, isMemory: boolean): void {
  if (isMemory) write.byte(codeOf('memory.size'));
  else {
    write.byte(MISC_PREFIX);
    write.index((CODE_OF.get('table.size') ?? 0) - MISC_BASE);
  }
  write.index(index);
  write.byte(OP.i64FromUnsigned);
}

/** Pushes the bytes of a memory or the elements of a table. */
function pushSize(write: Sink, index: number, isMemory: boolean): void {
  pushCount(write, index, isMemory);
  if (isMemory) write.all([OP.i64Const, PAGE_SHIFT, OP.i64ShiftLeft]);
}

type Charge = { readonly length: number; readonly counter: number; readonly shift: number };

function payLength(write: Sink, { length, counter, shift }: Charge): void {
  write.all([OP.localGet, counter]);
  pushLength(write, length);
  if (shift !== 0) {
    write.all([OP.i64Const, Math.abs(shift), shift < 0 ? OP.i64ShiftRightUnsigned : OP.i64ShiftLeft]);
  }
  write.all([OP.i64Const, PAGE_SHIFT, OP.i64ShiftLeft, OP.i64Subtract, OP.localSet, counter]);
}

function writeOperation(write: Sink, { code, first, second }: Operation): void {
  const name = NAMES.get(code);
  if (code < MISC_BASE) write.byte(code);
  else {
    write.byte(MISC_PREFIX);
    write.index(code - MISC_BASE);
  }
  write.index(first);
  if (name === 'memory.init' || name === 'memory.copy' || name === 'table.init' || name === 'table.copy') {
    write.index(second);
  }
}
