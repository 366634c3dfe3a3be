import type { Limits } from '../limits.ts';
import type { ExternKind, WasmModule } from '../read/module.ts';
import { footprintOf } from './footprint.ts';
import { type Renewal, renewalOf } from './renewal.ts';
import { type Shape, type Shapes, shapeOf } from './shape.ts';
import type { Signature } from './value.ts';

type Other = Exclude<ExternKind, 'function'>;

/** What a module imports or exports: functions with their type, of everything else only the kind. */
export type ModuleImport = { readonly module: string; readonly name: string } & (
  | ({ readonly kind: 'function' } & Signature)
  | { readonly kind: Other }
);
export type ModuleExport = { readonly name: string } & (
  | ({ readonly kind: 'function' } & Signature)
  | { readonly kind: Other }
);

/** A memory of a module, by the import that the metered module has for it. */
export type MemorySlot = {
  readonly module: string;
  readonly name: string;
  readonly minPages: number;
  readonly maxPages: number;
};

/** A function that can be called from outside. */
export type GuestFunction = Shape & {
  /** Fuel that a call owes from the beginning: a guest can export what it imports, and no code of its own pays then. */
  readonly owed: number;
};

/** All that making instances of a module takes. */
export type Recipe = {
  readonly module: WebAssembly.Module;
  readonly imports: readonly ModuleImport[];
  readonly exports: readonly ModuleExport[];
  readonly functions: ReadonlyMap<string, GuestFunction>;
  /** Like `owed` of a function, for the start function. */
  readonly startOwed: number;
  readonly memories: readonly MemorySlot[];
  /** Which of the memories host functions see. */
  readonly guestMemory: number;
  /** What the meter was told a call of each import costs, by `module.name`. */
  readonly hostFuel: Readonly<Record<string, number>>;
  /** Imports whose fuel the crossing takes, as the guest can call them where the meter does not see it. */
  readonly hostCharged: ReadonlySet<string>;
  readonly limits: Limits;
  readonly isDeterministic: boolean;
  readonly renewal: Renewal;
  /** How much memory all this takes beside the module's code, about. */
  readonly bytes: number;
};

/** What the meter's exports and imports are called; nothing of a guest's own is. */
export const CONTROL_PREFIX = 'palisade:';
export const CONTROL_MODULE = 'palisade';
const START = `${CONTROL_PREFIX}start`;

type Forced = { readonly minPages: number; readonly maxPages: number };

export type RecipeInput = {
  /** The metered module, compiled. */
  readonly module: WebAssembly.Module;
  /** The sections of the guest's module, or of its metered form. */
  readonly sections: WasmModule;
  readonly memories: readonly Forced[];
} & Pick<Recipe, 'hostFuel' | 'hostCharged' | 'limits' | 'isDeterministic'>;

export function recipeOf({ module, sections, memories, ...terms }: RecipeInput): Recipe {
  const owed = owedByImport(sections, terms);
  const shapes: Shapes = new Map();
  const start = sections.exports.find(({ name }) => name === START)?.index ?? sections.start ?? -1;
  const guestMemory = sections.exports.find(({ name, kind }) => kind === 'memory' && name === 'memory');
  return {
    module,
    imports: Object.freeze(listImports(sections, shapes)),
    exports: Object.freeze(listExports(sections, shapes)),
    functions: listFunctions(sections, shapes, owed),
    startOwed: owed.get(start) ?? 0,
    memories: slotsOf(module, memories),
    guestMemory: guestMemory?.index ?? 0,
    renewal: renewalOf(module, sections, memories),
    ...terms,
    bytes: footprintOf(sections, shapes, terms),
  };
}

function listFunctions(
  sections: WasmModule,
  shapes: Shapes,
  owedBy: ReadonlyMap<number, number>,
): Map<string, GuestFunction> {
  const functions = new Map<string, GuestFunction>();
  for (const { name, kind, index } of sections.exports) {
    if (kind !== 'function' || name.startsWith(CONTROL_PREFIX)) continue;
    const { params, results, foreign } = shapeOf(sections, shapes, index);
    functions.set(name, { params, results, foreign, owed: owedBy.get(index) ?? 0 });
  }
  return functions;
}

/** The fuel of each imported function that neither the crossing nor a caller inside the guest would take. */
function owedByImport(
  { imports }: WasmModule,
  { hostFuel, hostCharged }: Pick<Recipe, 'hostFuel' | 'hostCharged'>,
): ReadonlyMap<number, number> {
  const owed = new Map<number, number>();
  for (const { module, name, kind, index } of imports) {
    const key = `${module}.${name}`;
    if (kind === 'function' && !hostCharged.has(key)) owed.set(index, hostFuel[key] ?? 0);
  }
  return owed;
}

function listImports(sections: WasmModule, shapes: Shapes): ModuleImport[] {
  return sections.imports
    .filter(({ module, name, kind }) => !isOwnMemory(module, name, kind))
    .map(({ module, name, kind, index }) => {
      if (kind !== 'function') return Object.freeze({ module, name, kind });
      const { params, results } = shapeOf(sections, shapes, index);
      return Object.freeze({ module, name, kind, params, results });
    });
}

function listExports(sections: WasmModule, shapes: Shapes): ModuleExport[] {
  return sections.exports
    .filter(({ name }) => !name.startsWith(CONTROL_PREFIX))
    .map(({ name, kind, index }) => {
      if (kind !== 'function') return Object.freeze({ name, kind });
      const { params, results } = shapeOf(sections, shapes, index);
      return Object.freeze({ name, kind, params, results });
    });
}

function isOwnMemory(module: string, name: string, kind: ExternKind): boolean {
  return kind === 'memory' && module === CONTROL_MODULE && name.startsWith('memory:');
}

/** Every memory of a metered module is an import, and imports are in the order of their indices. */
function slotsOf(module: WebAssembly.Module, memories: readonly Forced[]): MemorySlot[] {
  const names = WebAssembly.Module.imports(module).filter(({ kind }) => kind === 'memory');
  return names.map(({ module: from, name }, index) => {
    const { minPages, maxPages } = memories[index] ?? { minPages: 0, maxPages: 0 };
    return { module: from, name, minPages, maxPages };
  });
}
