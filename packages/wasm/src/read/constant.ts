import { Cursor } from './cursor.ts';
import { type Draft, readIndex, use } from './draft.ts';
import type { ValueType } from './module.ts';
import { malformed, requireWithin, unsupported } from './refusal.ts';
import { F32, F64, FUNCREF, I32, I64, readHeapType, V128 } from './value-type.ts';

const END = 0x0b;
const I32_CONST = 0x41;
const HEAP_PREFIX = 0xfb;
const VECTOR_PREFIX = 0xfd;
const V128_CONST = 0x0c;

/** Reads past a constant expression of the type `type`, and marks the functions that it references. */
export function readConstant(cursor: Cursor, draft: Draft, type: ValueType): void {
  const start = cursor.at;
  draft.operandCount = 0;
  for (;;) {
    const offset = cursor.at;
    const opcode = cursor.u8('a constant expression');
    if (opcode === END) break;
    const left = readOperator(cursor, draft, opcode, offset);
    // Boundary: pending operands are bounded like open blocks.
    requireWithin('nesting', draft.operandCount + 1, draft.limits, offset);
    draft.operands[draft.operandCount++] = left;
  }
  if (draft.operandCount !== 1 || draft.operands[0] !== type) {
    throw malformed('a constant expression gives something else, expected one value of its type', start);
  }
}

/** Reads past a constant expression of type i32, and returns its value if it is a single number. */
export function readPlainConstant(cursor: Cursor, draft: Draft): number | undefined {
  const ahead = new Cursor(cursor.bytes, cursor.at, cursor.at + cursor.left);
  readConstant(cursor, draft, I32);
  if (ahead.u8('a constant expression') !== I32_CONST) return undefined;
  const value = ahead.i32('i32.const');
  return ahead.at === cursor.at - 1 ? value >>> 0 : undefined;
}

/** Reads past one operator and returns the type of its result; each has one result. */
function readOperator(cursor: Cursor, draft: Draft, opcode: number, offset: number): ValueType {
  switch (opcode) {
    case I32_CONST:
      cursor.i32('i32.const');
      return I32;
    case 0x42:
      cursor.skipI64('i64.const');
      return I64;
    case 0x43:
      cursor.skip(4, 'f32.const');
      return F32;
    case 0x44:
      cursor.skip(8, 'f64.const');
      return F64;
    case 0x23:
      return readGlobalGet(cursor, draft);
    case 0xd0:
      return readHeapType(cursor, draft);
    case 0xd2:
      draft.referenced[readIndex(cursor, 'function', draft.functions.length)] = 1;
      return FUNCREF;
    case 0x6a:
    case 0x6b:
    case 0x6c:
      return combine(draft, I32, offset);
    case 0x7c:
    case 0x7d:
    case 0x7e:
      return combine(draft, I64, offset);
    case VECTOR_PREFIX:
      return readVector(cursor, draft, offset);
    case HEAP_PREFIX:
      return unsupported('gc', offset);
    default:
      throw malformed(`0x${opcode.toString(16)} is in a constant expression, expected a constant`, offset);
  }
}

/** The type of an immutable global. */
function readGlobalGet(cursor: Cursor, draft: Draft): ValueType {
  const offset = cursor.at;
  const index = readIndex(cursor, 'global', draft.globals.length);
  const global = draft.globals[index];
  if (global === undefined || global.mutable) {
    throw malformed(`mutable global ${index} is in a constant expression, expected an immutable one`, offset);
  }
  // Only the newest engines accept a global that the module defines itself; that came with "gc".
  if (!global.imported) unsupported('gc', offset);
  return global.type;
}

/** Addition, subtraction or multiplication of two values of `type`, taken off the operands. */
function combine(draft: Draft, type: ValueType, offset: number): ValueType {
  const count = draft.operandCount - 2;
  if (count < 0 || draft.operands[count] !== type || draft.operands[count + 1] !== type) {
    throw malformed('an operator in a constant expression lacks operands, expected two of its type', offset);
  }
  draft.operandCount = count;
  use(draft, 'extended-constants', offset);
  return type;
}

function readVector(cursor: Cursor, draft: Draft, offset: number): ValueType {
  if (cursor.u32('a vector operator') !== V128_CONST) {
    throw malformed('a vector operator is in a constant expression, expected v128.const', offset);
  }
  use(draft, 'simd', offset);
  cursor.skip(16, 'v128.const');
  return V128;
}
