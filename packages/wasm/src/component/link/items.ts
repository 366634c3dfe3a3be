/** The contents of a component's index spaces once names and indices are resolved. */
import type { FunctionType, Global, Memory, Table, WasmModule } from '../../read/module.ts';
import type { ComponentSyntax, Declaration } from '../read/syntax.ts';
import type { WitFunction, WitType, WorldImport } from '../types.ts';

/** A function of the world, as a core function: the memory the host writes to and its allocator. */
export type Lowered = {
  readonly row: WorldImport;
  readonly memory: CoreMemory | null;
  readonly realloc: CoreFunction | null;
};

/** Where a core item is defined: an instance of the plan and an index in its module. Never an import of that module. */
type Home = { readonly instance: number; readonly index: number };

export type CoreFunction = { readonly sort: 'function'; readonly type: FunctionType } & (
  | ({ readonly from: 'instance' } & Home)
  | { readonly from: 'world'; readonly lowered: Lowered }
);
export type CoreTable = Home & { readonly sort: 'table'; readonly type: Table };
export type CoreMemory = Home & { readonly sort: 'memory'; readonly type: Memory };
export type CoreGlobal = Home & { readonly sort: 'global'; readonly type: Global };
export type CoreItem = CoreFunction | CoreTable | CoreMemory | CoreGlobal;

export type CoreInstance = {
  readonly sort: 'core-instance';
  readonly exports: ReadonlyMap<string, CoreItem>;
};
export type CoreModule = { readonly sort: 'module'; readonly start: number; readonly end: number };

export type Lift = {
  readonly core: CoreFunction;
  readonly memory: CoreMemory | null;
  readonly realloc: CoreFunction | null;
};

export type Func = { readonly sort: 'func'; readonly type: WitFunction } & (
  | { readonly from: 'world'; readonly interfaceName: string; readonly name: string }
  | { readonly from: 'lift'; readonly lift: Lift }
);

/** A type of values with how large it is when written out, and how deep. */
export type ValueType = {
  readonly sort: 'type';
  readonly kind: 'value';
  readonly type: WitType;
  readonly nodes: number;
  readonly depth: number;
};

export type TypeItem =
  | ValueType
  | {
      readonly sort: 'type';
      readonly kind: 'resource';
      readonly interfaceName: string;
      readonly name: string;
    }
  | { readonly sort: 'type'; readonly kind: 'func'; readonly type: WitFunction; readonly nodes: number }
  | {
      readonly sort: 'type';
      readonly kind: 'instance';
      readonly declarations: readonly Declaration[];
      readonly outer: View;
    }
  | { readonly sort: 'type'; readonly kind: 'component' };

export type Component = {
  readonly sort: 'component';
  readonly syntax: ComponentSyntax;
  readonly outer: View;
};
export type Instance = { readonly sort: 'instance'; readonly exports: ReadonlyMap<string, Item> };

/** What an instance of a component can export. */
export type Item = CoreModule | Func | TypeItem | Component | Instance;

export type Spaces = {
  readonly function: CoreFunction[];
  readonly table: CoreTable[];
  readonly memory: CoreMemory[];
  readonly global: CoreGlobal[];
  readonly module: CoreModule[];
  readonly 'core-instance': CoreInstance[];
  readonly func: Func[];
  readonly type: TypeItem[];
  readonly component: Component[];
  readonly instance: Instance[];
};

/** The index spaces of one component or type, and those around it. */
export type Scope = { readonly spaces: Spaces; readonly outer: View | null };

/** A scope as it was when something inside it was defined: what came later is out of its reach. */
export type View = {
  readonly scope: Scope;
  readonly types: number;
  readonly components: number;
  readonly modules: number;
};

/** A core module to be merged, with what its imports refer to, in order. */
export type PlannedInstance = { readonly module: WasmModule; readonly imports: readonly CoreItem[] };
