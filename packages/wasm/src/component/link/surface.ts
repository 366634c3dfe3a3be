/** The linked module's interface: functions of the world in, a memory, an allocator and the exports out. */
import type { WitFunction, World, WorldImport } from '../types.ts';
import type { CoreFunction, CoreMemory, Instance, Lift, Lowered, PlannedInstance } from './items.ts';
import { unlinked } from './refuse.ts';
import { isSameFunction, writeWit } from './wit.ts';

export type Surface = {
  readonly imports: readonly WorldImport[];
  readonly exports: readonly {
    readonly name: string;
    readonly type: WitFunction;
    readonly core: CoreFunction;
  }[];
  readonly memory: CoreMemory | null;
  /** All that are needed; the first is the one of the exports, where they have one. */
  readonly reallocs: readonly CoreFunction[];
  /** The wrapper of a function of the world, with the number of its import and of its realloc. */
  readonly crossings: ReadonlyMap<string, Crossing>;
};

export type Crossing = { readonly core: CoreFunction; readonly import: number; readonly realloc: number };

/** Finds what the module imports and exports; checks the exports against the world. */
export function surfaceOf(world: World, root: Instance, instances: readonly PlannedInstance[]): Surface {
  const exports = Object.entries(world.exports).map(([name, type]) => {
    const lift = requireExport(root, name, type);
    return { name, type, core: lift.core, lift };
  });
  const lifts = exports.map(({ lift }) => lift);
  const crossed = crossedFunctions(instances);
  const ends = [...lifts, ...crossed.map(({ lowered }) => lowered)];
  const reallocs = reallocsOf(lifts, ends);
  return { exports, memory: memoryOf(ends), reallocs, ...number(crossed, reallocs) };
}

function requireExport(root: Instance, name: string, type: WitFunction): Lift {
  const item = root.exports.get(name);
  if (item === undefined) {
    throw unlinked(`it has no export "${name}", expected ${writeWit(type)}`, name);
  }
  if (item.sort !== 'func')
    throw unlinked(`its export "${name}" is a ${item.sort}, expected ${writeWit(type)}`, name);
  if (!isSameFunction(item.type, type)) {
    throw unlinked(`its export "${name}" is ${writeWit(item.type)}, expected ${writeWit(type)}`, name);
  }
  if (item.from !== 'lift' || item.lift.core.from === 'world')
    throw unlinked(`its export "${name}" is an import, expected a function of its own`, name);
  return item.lift;
}

type Crossed = Extract<CoreFunction, { from: 'world' }>;

/** Functions of the world that a module really imports, in the order of their use. */
function crossedFunctions(instances: readonly PlannedInstance[]): readonly Crossed[] {
  const found = new Map<Lowered, Crossed>();
  for (const { imports } of instances) {
    for (const item of imports) {
      if (item.sort === 'function' && item.from === 'world') found.set(item.lowered, item);
    }
  }
  return [...found.values()];
}

/** One memory: the host reads and writes nowhere else. */
function memoryOf(ends: readonly (Lift | Lowered)[]): CoreMemory | null {
  let found: CoreMemory | null = null;
  for (const { memory } of ends) {
    if (memory === null) continue;
    // Boundary: a pointer is an address in one memory; with two of them it could be read in the wrong one.
    if (found !== null && itemKey(found) !== itemKey(memory)) {
      throw unlinked('its functions use two memories, expected one', 'memory');
    }
    found = memory;
  }
  return found;
}

function reallocsOf(lifts: readonly Lift[], ends: readonly (Lift | Lowered)[]): readonly CoreFunction[] {
  const distinct = (each: readonly (Lift | Lowered)[]) => {
    const found = new Map<string, CoreFunction>();
    for (const { realloc } of each) if (realloc !== null) found.set(itemKey(realloc), realloc);
    return [...found.values()];
  };
  if (distinct(lifts).length > 1) throw unlinked('its exports use two allocators, expected one', 'realloc');
  return distinct(ends);
}

/** Gives each function of the world one import, and what crosses with different allocators a number each. */
function number(
  crossed: readonly Crossed[],
  reallocs: readonly CoreFunction[],
): Pick<Surface, 'imports' | 'crossings'> {
  const numbers = new Map(reallocs.map((each, index) => [itemKey(each), index]));
  const imports = new Map<string, { readonly at: number; readonly row: WorldImport }>();
  const crossings = new Map<string, Crossing>();
  for (const core of crossed) {
    const { row, realloc } = core.lowered;
    const key = rowKey(row);
    const at = imports.get(key)?.at ?? imports.size;
    imports.set(key, { at, row });
    const which = realloc === null ? 0 : (numbers.get(itemKey(realloc)) ?? 0);
    crossings.set(itemKey(core), { core, import: at, realloc: which });
  }
  return { imports: [...imports.values()].map(({ row }) => row), crossings };
}

function rowKey({ module, name }: WorldImport): string {
  return JSON.stringify([module, name]);
}

/** A text that two items share only when they are the same in the linked module. */
export function itemKey(item: CoreFunction | CoreMemory): string {
  if (item.sort === 'memory' || item.from === 'instance')
    return `${item.sort} ${item.instance} ${item.index}`;
  const { row, realloc } = item.lowered;
  return `world ${rowKey(row)} ${realloc === null ? '' : itemKey(realloc)}`;
}
