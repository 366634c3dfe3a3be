/** Copies globals, element and data segments with their indices replaced. The reader has checked their form. */

import type { Limits } from '../../limits.ts';
import type { Sink } from '../../meter/sink.ts';
import { Cursor } from '../../read/cursor.ts';
import { requireWithin } from '../../read/refusal.ts';
import { FUNCREF } from '../../read/value-type.ts';
import { KINDS, type PlacedModule } from './layout.ts';

const END = 0x0b;
const GLOBAL_GET = 0x23;
const REF_FUNC = 0xd2;
const NOT_ACTIVE = 1;
const EXPLICIT = 2;
const EXPRESSIONS = 4;
const SECTIONS = { global: 6, element: 9, data: 11 } as const;

/** The values that globals of the merged module begin with, by index: no expression names another global any more. */
export type Transcript = { readonly limits: Limits; readonly initials: Uint8Array[] };

function sectionOf({ module }: PlacedModule, kind: keyof typeof SECTIONS): Cursor | null {
  const section = module.sections.find(({ id }) => id === SECTIONS[kind]);
  if (section === undefined) return null;
  const cursor = new Cursor(module.bytes, section.start, section.end);
  cursor.u32('a count');
  return cursor;
}

function mapped({ maps }: PlacedModule, kind: number, index: number): number {
  return maps[kind]?.[index] ?? 0;
}

export function writeGlobals(placed: PlacedModule, transcript: Transcript, out: Sink): void {
  const cursor = sectionOf(placed, 'global');
  if (cursor === null) return;
  while (cursor.left > 0) {
    out.byte(cursor.u8('a type'));
    out.byte(cursor.u8('a mutability'));
    const start = out.length;
    writeConstant(cursor, placed, transcript, out);
    transcript.initials.push(out.bytes.slice(start, out.length - 1));
  }
}

/**
 * A constant expression. A global is replaced by its value: not every engine lets a constant name a global that the
 * same module defines, which is what the imported ones have become.
 */
function writeConstant(cursor: Cursor, placed: PlacedModule, transcript: Transcript, out: Sink): void {
  for (;;) {
    const start = cursor.at;
    const opcode = cursor.u8('a constant');
    if (opcode === GLOBAL_GET) {
      const index = mapped(placed, KINDS.global, cursor.u32('an index'));
      out.all(transcript.initials[index] ?? []);
      // Boundary: sums of sums of sums … double with every module.
      requireWithin('moduleBytes', out.length, transcript.limits, start);
    } else if (opcode === REF_FUNC) {
      out.byte(opcode);
      out.index(mapped(placed, KINDS.function, cursor.u32('an index')));
    } else {
      passOperand(cursor, opcode);
      out.copy(cursor.bytes, start, cursor.at);
    }
    if (opcode === END) return;
  }
}

function passOperand(cursor: Cursor, opcode: number): void {
  if (opcode === 0x41) cursor.i32('i32.const');
  else if (opcode === 0x42) cursor.skipI64('i64.const');
  else if (opcode === 0x43) cursor.skip(4, 'f32.const');
  else if (opcode === 0x44) cursor.skip(8, 'f64.const');
  else if (opcode === 0xd0) cursor.s33('ref.null');
  else if (opcode === 0xfd) {
    cursor.u32('v128.const');
    cursor.skip(16, 'v128.const');
  }
}

export function writeElements(placed: PlacedModule, transcript: Transcript, out: Sink): void {
  const cursor = sectionOf(placed, 'element');
  if (cursor === null) return;
  while (cursor.left > 0) writeElementSegment(cursor, placed, transcript, out);
}

function writeElementSegment(cursor: Cursor, placed: PlacedModule, transcript: Transcript, out: Sink): void {
  const flags = cursor.u32('flags');
  const isActive = (flags & NOT_ACTIVE) === 0;
  // The long form throughout: the short one is for table 0 alone.
  out.index(isActive ? flags | EXPLICIT : flags);
  if (isActive) {
    out.index(mapped(placed, KINDS.table, flags & EXPLICIT ? cursor.u32('an index') : 0));
    writeConstant(cursor, placed, transcript, out);
  }
  const hasKind = (flags & (NOT_ACTIVE | EXPLICIT)) !== 0;
  out.byte(hasKind ? cursor.u8('a kind') : flags & EXPRESSIONS ? FUNCREF : 0);
  const count = cursor.u32('a count');
  out.index(count);
  for (let left = count; left > 0; left -= 1) {
    if (flags & EXPRESSIONS) writeConstant(cursor, placed, transcript, out);
    else out.index(mapped(placed, KINDS.function, cursor.u32('an index')));
  }
}

export function writeData(placed: PlacedModule, transcript: Transcript, out: Sink): void {
  const cursor = sectionOf(placed, 'data');
  if (cursor === null) return;
  while (cursor.left > 0) {
    const flags = cursor.u32('flags');
    if (flags === NOT_ACTIVE) out.byte(flags);
    else {
      const memory = mapped(placed, KINDS.memory, flags & EXPLICIT ? cursor.u32('an index') : 0);
      out.byte(memory === 0 ? 0 : EXPLICIT);
      if (memory !== 0) out.index(memory);
      writeConstant(cursor, placed, transcript, out);
    }
    const length = cursor.u32('a length');
    const start = cursor.at;
    cursor.skip(length, 'data');
    out.index(length);
    out.copy(cursor.bytes, start, cursor.at);
  }
}
