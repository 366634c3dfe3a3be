/** The final position of everything in the merged modules: one index space of each kind, instance after instance. */
import type { FunctionType, WasmModule } from '../../read/module.ts';
import type { CoreFunction, CoreItem, PlannedInstance } from './items.ts';
import { type Crossing, itemKey, type Surface } from './surface.ts';

/** The positions of KINDS in the maps of an instance. */
export const KINDS = { type: 0, function: 1, table: 2, memory: 3, global: 4, element: 5, data: 6 } as const;

/** A module and, by kind, the new index of each of its own. */
export type PlacedModule = { readonly module: WasmModule; readonly maps: readonly Uint32Array[] };

/** A function around an import that first says which allocator the host shall use. */
export type Wrapper = Crossing & { readonly type: number };

export type Layout = {
  readonly modules: readonly PlacedModule[];
  readonly types: TypeTable;
  readonly importTypes: readonly number[];
  readonly wrappers: readonly Wrapper[];
  /** The first index after the functions of all modules: wrappers, then the allocator, then the start. */
  readonly extras: number;
  /** The first index after the globals of all modules. */
  readonly globals: number;
  readonly functionAt: (item: CoreFunction) => number;
  readonly indexAt: (item: CoreItem) => number;
};

/** All function types, each once. */
export type TypeTable = { readonly list: FunctionType[]; readonly known: Map<string, number> };

export function internType({ list, known }: TypeTable, type: FunctionType): number {
  const key = `${type.params.join()}>${type.results.join()}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  known.set(key, list.length);
  return list.push(type) - 1;
}

export function layOut(instances: readonly PlannedInstance[], surface: Surface): Layout {
  const types: TypeTable = { list: [], known: new Map() };
  const crossings = [...surface.crossings.values()];
  const importTypes: number[] = [];
  for (const { core, import: at } of crossings) importTypes[at] = internType(types, core.type);
  const bases = basesOf(instances, surface.imports.length);
  const wrapped = crossings.filter(({ realloc }) => realloc !== 0);
  const wrapperAt = new Map(wrapped.map(({ core }, index) => [itemKey(core), bases.end.function + index]));
  const functionAt = (item: CoreFunction): number => {
    if (item.from === 'instance') return (bases.of[item.instance]?.function ?? 0) + item.index;
    const key = itemKey(item);
    return wrapperAt.get(key) ?? surface.crossings.get(key)?.import ?? 0;
  };
  const indexAt = (item: CoreItem): number =>
    item.sort === 'function' ? functionAt(item) : (bases.of[item.instance]?.[item.sort] ?? 0) + item.index;
  const modules = instances.map((instance, index) =>
    place(instance, bases.of[index] ?? bases.end, types, indexAt),
  );
  const wrappers = wrapped.map((each) => ({ ...each, type: internType(types, each.core.type) }));
  const { function: extras, global: globals } = bases.end;
  return { modules, types, importTypes, wrappers, extras, globals, functionAt, indexAt };
}

/** What is added to an index of a module to get the new one, for what the module defines itself. */
type Base = {
  readonly function: number;
  readonly table: number;
  readonly memory: number;
  readonly global: number;
  readonly element: number;
  readonly data: number;
};

function basesOf(
  instances: readonly PlannedInstance[],
  imported: number,
): { of: readonly Base[]; end: Base } {
  let end: Base = { function: imported, table: 0, memory: 0, global: 0, element: 0, data: 0 };
  const of: Base[] = [];
  for (const { module } of instances) {
    const own = {
      function: end.function - module.importedFunctions,
      table: end.table - countImported(module.tables),
      memory: end.memory - countImported(module.memories),
      global: end.global - countImported(module.globals),
      element: end.element,
      data: end.data,
    };
    of.push(own);
    end = {
      function: own.function + module.functions.length,
      table: own.table + module.tables.length,
      memory: own.memory + module.memories.length,
      global: own.global + module.globals.length,
      element: own.element + module.elements.length,
      data: own.data + module.data.length,
    };
  }
  return { of, end };
}

function countImported(items: readonly { readonly imported: boolean }[]): number {
  return items.reduce((count, { imported }) => count + (imported ? 1 : 0), 0);
}

function place(
  { module, imports }: PlannedInstance,
  base: Base,
  types: TypeTable,
  indexAt: (item: CoreItem) => number,
): PlacedModule {
  const maps = [
    Uint32Array.from(module.types, (type) => internType(types, type)),
    shift(module.functions.length, base.function),
    shift(module.tables.length, base.table),
    shift(module.memories.length, base.memory),
    shift(module.globals.length, base.global),
    shift(module.elements.length, base.element),
    shift(module.data.length, base.data),
  ];
  module.imports.forEach(({ kind, index }, position) => {
    const item = imports[position];
    const map = maps[KINDS[kind]];
    if (item !== undefined && map !== undefined) map[index] = indexAt(item);
  });
  return { module, maps };
}

function shift(count: number, base: number): Uint32Array {
  const map = new Uint32Array(count);
  for (let index = 0; index < count; index += 1) map[index] = index + base;
  return map;
}
