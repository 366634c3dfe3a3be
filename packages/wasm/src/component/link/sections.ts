/** Writes the sections of the linked module that are made of its layout: all but globals, segments and code. */
import { Sink } from '../../meter/sink.ts';
import type { Extras } from './extras.ts';
import { KINDS, type Layout } from './layout.ts';
import type { Surface } from './surface.ts';

const EXTERN_KINDS = { function: 0, table: 1, memory: 2, global: 3 } as const;
const FUNCTION_FORM = 0x60;
const DECLARATIVE = 3;

/** The entries of a section and how many they are. */
export type Entries = readonly [count: number, entries: Sink];

/** A section, left out where it has no entries. */
export function writeSection(out: Sink, id: number, [count, entries]: Entries): void {
  if (count === 0) return;
  const head = new Sink(8);
  head.index(count);
  out.byte(id);
  out.index(head.length + entries.length);
  out.copy(head.bytes, 0, head.length);
  out.copy(entries.bytes, 0, entries.length);
}

/** A section of one number. */
export function writeNumber(out: Sink, id: number, value: number): void {
  const content = new Sink(8);
  content.index(value);
  out.byte(id);
  out.sized(content);
}

export function typesOf({ types: { list } }: Layout): Entries {
  const out = new Sink();
  for (const { params, results } of list) {
    out.byte(FUNCTION_FORM);
    out.index(params.length);
    out.all(params);
    out.index(results.length);
    out.all(results);
  }
  return [list.length, out];
}

function writeName(out: Sink, name: string): void {
  const bytes = new TextEncoder().encode(name);
  out.index(bytes.length);
  out.all(bytes);
}

export function importsOf(layout: Layout, { imports }: Surface): Entries {
  const out = new Sink();
  imports.forEach(({ module, name }, index) => {
    writeName(out, module);
    writeName(out, name);
    out.byte(EXTERN_KINDS.function);
    out.index(layout.importTypes[index] ?? 0);
  });
  return [imports.length, out];
}

export function functionsOf(layout: Layout, extras: Extras): Entries {
  const out = new Sink();
  let count = extras.functions.length;
  for (const { module, maps } of layout.modules) {
    for (let index = module.importedFunctions; index < module.functions.length; index += 1) {
      count += 1;
      out.index(maps[KINDS.type]?.[module.functions[index] ?? 0] ?? 0);
    }
  }
  for (const { type } of extras.functions) out.index(type);
  return [count, out];
}

export function extentsOf(layout: Layout, of: 'tables' | 'memories'): Entries {
  const out = new Sink();
  let count = 0;
  for (const { module } of layout.modules) {
    for (const { start, end, imported } of module[of]) {
      if (imported) continue;
      out.copy(module.bytes, start, end);
      count += 1;
    }
  }
  return [count, out];
}

export function exportsOf(layout: Layout, surface: Surface, { realloc }: Extras): Entries {
  const out = new Sink();
  let count = 0;
  const add = (name: string, kind: number, index: number): void => {
    writeName(out, name);
    out.byte(kind);
    out.index(index);
    count += 1;
  };
  if (surface.memory !== null) add('memory', EXTERN_KINDS.memory, layout.indexAt(surface.memory));
  if (realloc !== null) add('realloc', EXTERN_KINDS.function, realloc);
  for (const { name, core } of surface.exports) add(name, EXTERN_KINDS.function, layout.functionAt(core));
  return [count, out];
}

/** Functions that `ref.func` names have to be named outside of code too; the exports that did it are gone. */
export function writeDeclared(out: Sink, named: ReadonlySet<number>): void {
  if (named.size === 0) return;
  out.byte(DECLARATIVE);
  out.byte(0);
  out.index(named.size);
  for (const index of named) out.index(index);
}
