/** Writes the rewritten module, section by section, in the order that the format requires. */
import type { FunctionType, WasmModule } from '../read/module.ts';
import { I64 } from '../read/value-type.ts';
import type { Controls } from './controls.ts';
import { type Plan, PROTOCOLS } from './plan.ts';
import { Sink } from './sink.ts';

export type Extent = { readonly min: number; readonly max: number };

export type Writing = {
  readonly plan: Plan;
  /** The bodies of all functions that the module defines, each with its size. */
  readonly code: Sink;
  readonly controls: Controls;
  /** The extents of all memories and tables after limiting, imported ones too. */
  readonly memories: readonly Extent[];
  readonly tables: readonly Extent[];
  readonly importMemories: boolean;
  readonly deferStart: boolean;
  readonly dropNames: boolean;
  readonly initialCounter: bigint;
};

export const MEMORY_MODULE = 'palisade';

/** The order of sections in a file: data count precedes code. */
const ORDER = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11];

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const KINDS = { function: 0, table: 1, memory: 2, global: 3 } as const;

/** The bytes of the metered module. */
export function writeModule(writing: Writing): Uint8Array<ArrayBuffer> {
  const { module } = writing.plan;
  const out = new Sink(module.bytes.length + writing.code.length + 4096);
  out.all(HEADER);
  let next = 0;
  for (const section of module.sections) {
    if (section.id === 0) {
      // Hints about code refer to offsets in it, which have changed.
      if (section.name?.startsWith('metadata.code.') === true) continue;
      if (section.name === 'name' && writing.dropNames) continue;
      out.copy(module.bytes, section.headerStart, section.end);
      continue;
    }
    const position = ORDER.indexOf(section.id);
    while (next <= position) writeSection(out, ORDER[next++] ?? 0, writing);
  }
  while (next < ORDER.length) writeSection(out, ORDER[next++] ?? 0, writing);
  return out.taken();
}

const WRITERS: Readonly<Record<number, (out: Sink, writing: Writing) => number>> = {
  1: writeTypes,
  2: writeImports,
  3: writeFunctions,
  4: writeTables,
  5: writeMemories,
  6: writeGlobals,
  7: writeExports,
};

function writeSection(out: Sink, id: number, writing: Writing): void {
  if (id === 8) writeStart(out, writing);
  else if (id === 10) writeCode(out, writing);
  else if (WRITERS[id] === undefined) copySection(out, id, writing.plan.module);
  else {
    const content = new Sink();
    const count = WRITERS[id](content, writing);
    if (count === 0) return;
    const head = new Sink(8);
    head.index(count);
    out.byte(id);
    out.index(head.length + content.length);
    out.copy(head.bytes, 0, head.length);
    out.copy(content.bytes, 0, content.length);
  }
}

function copySection(out: Sink, id: number, module: WasmModule): void {
  const section = module.sections.find((each) => each.id === id);
  if (section !== undefined) out.copy(module.bytes, section.headerStart, section.end);
}

function writeTypes(out: Sink, { plan }: Writing): number {
  for (const type of plan.types) writeType(out, type);
  return plan.types.length;
}

function writeType(out: Sink, type: FunctionType): void {
  out.byte(0x60);
  for (const values of [type.params, type.results]) {
    out.index(values.length);
    out.all(values);
  }
}

function writeImports(out: Sink, { plan, importMemories, memories }: Writing): number {
  const { module } = plan;
  for (const each of module.imports) out.copy(module.bytes, each.start, each.end);
  if (!importMemories) return module.imports.length;
  let count = module.imports.length;
  module.memories.forEach((memory, index) => {
    if (memory.imported) return;
    writeName(out, MEMORY_MODULE);
    writeName(out, `memory:${index}`);
    out.byte(KINDS.memory);
    writeExtent(out, memories[index]);
    count += 1;
  });
  return count;
}

function writeFunctions(out: Sink, { plan }: Writing): number {
  const { functions, importedFunctions } = plan.module;
  for (let index = importedFunctions; index < functions.length; index += 1) {
    const type = functions[index] ?? 0;
    const isThread = plan.protocol[index] === PROTOCOLS.thread;
    out.index(isThread ? plan.threadType(type) : type);
  }
  for (const { type } of plan.added) out.index(type);
  return functions.length - importedFunctions + plan.added.length;
}

function writeTables(out: Sink, { plan, tables }: Writing): number {
  let count = 0;
  plan.module.tables.forEach((table, index) => {
    if (table.imported) return;
    out.byte(table.reference);
    writeExtent(out, tables[index]);
    count += 1;
  });
  return count;
}

function writeMemories(out: Sink, { plan, memories, importMemories }: Writing): number {
  let count = 0;
  plan.module.memories.forEach((memory, index) => {
    if (memory.imported || importMemories) return;
    writeExtent(out, memories[index]);
    count += 1;
  });
  return count;
}

function writeExtent(out: Sink, extent: Extent | undefined): void {
  out.byte(1);
  out.index(extent?.min ?? 0);
  out.index(extent?.max ?? 0);
}

function writeGlobals(out: Sink, { plan, initialCounter }: Writing): number {
  const { module } = plan;
  const section = module.sections.find((each) => each.id === 6);
  if (section !== undefined) out.copy(module.bytes, skipIndex(module.bytes, section.start), section.end);
  out.all([I64, 1, 0x42]);
  writeBig(out, initialCounter);
  out.byte(0x0b);
  return module.globals.filter((global) => !global.imported).length + 1;
}

function writeExports(out: Sink, { plan, controls, deferStart }: Writing): number {
  const { module, wrapperOf } = plan;
  for (const each of module.exports) {
    const wrapper = each.kind === 'function' ? wrapperOf.get(each.index) : undefined;
    if (wrapper === undefined) {
      out.copy(module.bytes, each.start, each.end);
      continue;
    }
    out.copy(module.bytes, each.start, afterName(module.bytes, each.start) + 1);
    out.index(wrapper);
  }
  for (const { name, index } of controls) writeExport(out, name, index);
  if (!deferStart || module.start === undefined) return module.exports.length + controls.length;
  writeExport(out, 'palisade:start', wrapperOf.get(module.start) ?? module.start);
  return module.exports.length + controls.length + 1;
}

function writeExport(out: Sink, name: string, index: number): void {
  writeName(out, name);
  out.byte(KINDS.function);
  out.index(index);
}

function writeStart(out: Sink, { plan, deferStart }: Writing): void {
  const { start } = plan.module;
  if (start === undefined || deferStart) return;
  const content = new Sink(8);
  content.index(plan.wrapperOf.get(start) ?? start);
  out.byte(8);
  out.sized(content);
}

/** The one section that is large: it is not buffered first. */
function writeCode(out: Sink, { plan, code }: Writing): void {
  const { functions, importedFunctions } = plan.module;
  const head = new Sink(8);
  head.index(functions.length - importedFunctions + plan.added.length);
  const added = new Sink();
  for (const { body } of plan.added) {
    added.index(body.length);
    added.copy(body, 0, body.length);
  }
  out.byte(10);
  out.index(head.length + code.length + added.length);
  for (const part of [head, code, added]) out.copy(part.bytes, 0, part.length);
}

function writeName(out: Sink, name: string): void {
  const bytes = new TextEncoder().encode(name);
  out.index(bytes.length);
  out.all(bytes);
}

function writeBig(out: Sink, value: bigint): void {
  let rest = value;
  for (;;) {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    const isLast = (rest === 0n && low < 64) || (rest === -1n && low >= 64);
    out.byte(isLast ? low : low | 0x80);
    if (isLast) return;
  }
}

function skipIndex(bytes: Uint8Array, start: number): number {
  let at = start;
  while ((bytes[at] ?? 0) >= 0x80) at += 1;
  return at + 1;
}

/** Where the name at `start` ends. */
function afterName(bytes: Uint8Array, start: number): number {
  let length = 0;
  let at = start;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at] ?? 0;
    length += (byte & 0x7f) * 2 ** shift;
    at += 1;
    if (byte < 0x80) return at + length;
  }
}
