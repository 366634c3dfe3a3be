import type { Limits } from '../limits.ts';
import type { Kind, OtherKind, Outline } from './outline.ts';
import { type Renewal, renewalOf } from './renewal.ts';
import { foreignIn, type Shape } from './shape.ts';
import type { Signature } from './value.ts';

/** What a module imports or exports: functions with their type, of everything else only the kind. */
export type ModuleImport = { readonly module: string; readonly name: string } & (
  | ({ readonly kind: 'function' } & Signature)
  | { readonly kind: OtherKind }
);
export type ModuleExport = { readonly name: string } & (
  | ({ readonly kind: 'function' } & Signature)
  | { readonly kind: OtherKind }
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
  /** Fuel that is due before a call begins: a guest can export what it imports, and then no code of its own pays. */
  readonly owed: number;
};

/** Everything needed to instantiate a module. */
export type Recipe = {
  readonly module: WebAssembly.Module;
  readonly imports: readonly ModuleImport[];
  readonly exports: readonly ModuleExport[];
  readonly functions: ReadonlyMap<string, GuestFunction>;
  /** Like `owed` of a function, for the start function. */
  readonly startOwed: number;
  /** How many functions the module has, and which of them the copies behind them are of. */
  readonly origins: { readonly functions: number; readonly copies: ReadonlyMap<number, number> };
  readonly memories: readonly MemorySlot[];
  /** Which of the memories host functions see. */
  readonly guestMemory: number;
  /** The cost of a call of each import as passed to the meter, by `module.name`. */
  readonly hostFuel: Readonly<Record<string, number>>;
  /** Imports whose fuel the crossing takes, as the guest can call them where the meter does not see it. */
  readonly hostCharged: ReadonlySet<string>;
  readonly limits: Limits;
  readonly isDeterministic: boolean;
  readonly renewal: Renewal;
  /** How much memory all this takes beside the module's code, about. */
  readonly bytes: number;
};

export type RecipeInput = {
  /** The metered module, compiled, and its bytes. */
  readonly module: WebAssembly.Module;
  readonly code: Uint8Array;
  readonly outline: Outline;
} & Pick<Recipe, 'hostFuel' | 'hostCharged' | 'limits' | 'isDeterministic'>;

export function recipeOf({ module, code, outline, ...terms }: RecipeInput): Recipe {
  const types = outline.types.map(freezeSignature);
  const imports = outline.imports.map(([from, name, kind]) =>
    Object.freeze({ module: from, name, ...namedKind(types, kind) }),
  );
  const exports = outline.exports.map(([name, kind]) => Object.freeze({ name, ...namedKind(types, kind) }));
  return {
    module,
    imports: Object.freeze(imports),
    exports: Object.freeze(exports),
    functions: functionsOf(types, outline),
    startOwed: outline.startOwed,
    origins: { functions: outline.functions, copies: new Map(outline.copies) },
    memories: slotsOf(module, outline.memories),
    guestMemory: outline.guestMemory,
    renewal: renewalOf(outline, code),
    ...terms,
    bytes: outline.bytes,
  };
}

function freezeSignature({ params, results }: Signature): Signature {
  return Object.freeze({ params: Object.freeze([...params]), results: Object.freeze([...results]) });
}

function namedKind(
  types: readonly Signature[],
  kind: Kind,
): ({ readonly kind: 'function' } & Signature) | { readonly kind: OtherKind } {
  if (typeof kind !== 'number') return { kind };
  const { params, results } = typeAt(types, kind);
  return { kind: 'function', params, results };
}

function functionsOf(types: readonly Signature[], { exports }: Outline): Map<string, GuestFunction> {
  const functions = new Map<string, GuestFunction>();
  for (const [name, kind, owed] of exports) {
    if (typeof kind !== 'number') continue;
    const { params, results } = typeAt(types, kind);
    functions.set(name, { params, results, foreign: foreignIn({ params, results }), owed });
  }
  return functions;
}

function typeAt(types: readonly Signature[], index: number): Signature {
  const type = types[index];
  if (type === undefined) throw new TypeError(`Cannot name function type: there is none at ${index}`);
  return type;
}

/** Every memory of a metered module is an import, and imports are in the order of their indices. */
function slotsOf(module: WebAssembly.Module, memories: Outline['memories']): MemorySlot[] {
  const names = WebAssembly.Module.imports(module).filter(({ kind }) => kind === 'memory');
  return names.map(({ module: from, name }, index) => {
    const [minPages, maxPages] = memories[index] ?? [0, 0];
    return { module: from, name, minPages, maxPages };
  });
}
