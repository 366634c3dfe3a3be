import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { readModule } from '../../src/read/module.ts';
import {
  assemble,
  custom,
  data,
  elements,
  HEADER,
  imported,
  moduleOf,
  op,
  section,
  sectionsOf,
} from '../fixture/builder.ts';
import { EXTERNREF, F64, FUNCREF, I32, I64 } from '../fixture/opcodes.ts';

const read = (bytes: Uint8Array) => readModule(bytes, DEFAULT_LIMITS);

/** One of everything. */
const parts = {
  types: [
    { params: [I32, F64], results: [I64] },
    { params: [], results: [] },
  ],
  imports: [
    { module: 'env', name: 'log', descriptor: imported.function(0) },
    { module: 'env', name: 'base', descriptor: imported.global({ type: I32, mutable: false }) },
    { module: 'env', name: 'table', descriptor: imported.table({ reference: FUNCREF, min: 4 }) },
  ],
  functions: [
    { type: 1, code: op('nop') },
    { type: 1, code: [] },
    { type: 1, locals: [[3, I32]] as const, code: [] },
  ],
  tables: [{ reference: EXTERNREF, min: 1, max: 2 }],
  memories: [{ min: 1, max: 16 }],
  globals: [
    { type: FUNCREF, mutable: true, init: op('ref.func', 3) },
    { type: I32, mutable: false, init: op('global.get', 0) },
  ],
  exports: [
    { name: 'run', kind: 'function', index: 1 },
    { name: 'memory', kind: 'memory', index: 0 },
    { name: 'counter', kind: 'global', index: 1 },
  ],
  start: 2,
  elements: [elements.active(0, 1, [1, 1]), elements.passive([]), elements.declarative([0])],
  data: [data.active(0, 8, [1, 2, 3]), data.passive([4])],
  customs: [{ name: 'notes', content: [9, 9] }],
} as const;

describe('readModule()', () => {
  const bytes = assemble(parts);
  const module = read(bytes);
  const slice = ({ start, end }: { readonly start: number; readonly end: number }) => [
    ...bytes.subarray(start, end),
  ];

  it('reads a module that V8 takes', () => {
    expect(WebAssembly.validate(bytes)).toBe(true);
    expect(module.bytes).toBe(bytes);
  });

  it('gives the index spaces with the imports first', () => {
    expect(module.types).toEqual(parts.types);
    expect(module.importedFunctions).toBe(1);
    expect([...module.functions]).toEqual([0, 1, 1, 1]);
    expect(module.tables).toMatchObject([
      { reference: FUNCREF, min: 4, max: undefined, imported: true },
      { reference: EXTERNREF, min: 1, max: 2, imported: false },
    ]);
    expect(module.memories).toMatchObject([{ min: 1, max: 16, imported: false }]);
    expect(module.globals).toMatchObject([
      { type: I32, mutable: false, imported: true },
      { type: FUNCREF, mutable: true, imported: false },
      { type: I32, mutable: false, imported: false },
    ]);
  });

  it('gives imports and exports with their index in their space', () => {
    expect(module.imports).toMatchObject([
      { module: 'env', name: 'log', kind: 'function', index: 0 },
      { module: 'env', name: 'base', kind: 'global', index: 0 },
      { module: 'env', name: 'table', kind: 'table', index: 0 },
    ]);
    expect(module.exports).toMatchObject(parts.exports);
    expect(module.start).toBe(2);
  });

  it('gives the bytes of each entry', () => {
    const [log, base] = module.imports;
    expect(log && slice(log)).toEqual([3, ...Buffer.from('env'), 3, ...Buffer.from('log'), 0, 0]);
    expect(base && slice({ start: base.descriptorStart, end: base.end })).toEqual([3, I32, 0]);
    expect(module.tables.map(slice)).toEqual([
      [FUNCREF, 0, 4],
      [EXTERNREF, 1, 1, 2],
    ]);
    expect(module.memories.map(slice)).toEqual([[1, 1, 16]]);
    expect(module.exports.map(slice)[0]).toEqual([3, ...Buffer.from('run'), 0, 1]);
  });

  it('gives segments, bodies and what is referenced', () => {
    expect(module.elements).toEqual([
      { mode: 'active', count: 2 },
      { mode: 'passive', count: 0 },
      { mode: 'declarative', count: 1 },
    ]);
    expect(module.data.map((segment) => [segment.mode, slice(segment)])).toEqual([
      ['active', [1, 2, 3]],
      ['passive', [4]],
    ]);
    const [start, end, , , third, thirdEnd] = module.bodies;
    expect(slice({ start: start ?? 0, end: end ?? 0 })).toEqual([0, 0x01, 0x0b]);
    expect(slice({ start: third ?? 0, end: thirdEnd ?? 0 })).toEqual([1, 3, I32, 0x0b]);
    expect(module.bodies).toHaveLength(6);
    // The imported function is declared, 1 is in the table, 3 in a global; 2 is only started.
    expect([...module.referenced]).toEqual([1, 1, 0, 1]);
  });

  it('gives the sections, which fill the file', () => {
    const ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11, 0];
    expect(module.sections.map((each) => each.id)).toEqual(ids);
    let at = HEADER.length;
    for (const each of module.sections) {
      expect(each.headerStart).toBe(at);
      at = each.end;
    }
    expect(at).toBe(bytes.length);
    const notes = module.sections.at(-1);
    expect(notes?.name).toBe('notes');
    expect(notes && slice(notes)).toEqual([9, 9]);
  });

  it('gives the features that the sections use', () => {
    expect([...module.features].sort()).toEqual(['bulk-memory', 'mutable-globals', 'reference-types']);
    expect([...read(moduleOf([])).features]).toEqual([]);
    expect([...read(assemble({ types: [{ params: [0x7b], results: [I32, I32] }] })).features].sort()).toEqual(
      ['multi-value', 'simd'],
    );
  });

  it('takes custom sections anywhere, and several of one name', () => {
    const spread = sectionsOf(parts).flatMap((each) => [custom('', []), each]);
    expect(read(moduleOf(spread)).sections).toHaveLength(26);
  });

  it('takes sections that are there and empty', () => {
    const empty = [1, 2, 3, 4, 5, 6, 7, 9, 12, 10, 11].map((id) => section(id, [0]));
    expect(WebAssembly.validate(moduleOf(empty))).toBe(true);
    expect(read(moduleOf(empty)).sections).toHaveLength(11);
  });

  it('reads a view that starts in the middle of a buffer', () => {
    const room = new Uint8Array(bytes.length + 7);
    room.set(bytes, 5);
    const view = room.subarray(5, 5 + bytes.length);
    expect(read(view).exports).toEqual(module.exports);
  });
});

describe('readModule() on a real module', () => {
  const home = dirname(createRequire(import.meta.url).resolve('@cedar-policy/cedar-wasm/nodejs'));

  it('agrees with V8 about its imports, exports and custom sections', () => {
    const bytes = readFileSync(join(home, 'cedar_wasm_bg.wasm'));
    const module = read(bytes);
    const compiled = new WebAssembly.Module(bytes);
    const outside = <Item extends { name: string; kind: string }>({ name, kind }: Item) => ({ name, kind });
    expect(module.exports.map(outside)).toEqual(WebAssembly.Module.exports(compiled).map(outside));
    expect(module.imports.map(outside)).toEqual(WebAssembly.Module.imports(compiled).map(outside));
    const producers = module.sections.find((each) => each.name === 'producers');
    const [content] = WebAssembly.Module.customSections(compiled, 'producers');
    expect(producers && bytes.subarray(producers.start, producers.end)).toEqual(
      content && Buffer.from(content),
    );
  });
});
