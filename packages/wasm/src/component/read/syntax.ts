/** What the sections of a component say, before anything is resolved: indices are still numbers. */

/** Where a definition begins, for messages. */
export type Placed = { readonly offset: number };

export const CORE_SORTS = ['function', 'table', 'memory', 'global'] as const;
export type CoreSort = (typeof CORE_SORTS)[number];

/** What has an index space of its own in a component. */
export type Sort = CoreSort | 'module' | 'core-instance' | 'func' | 'type' | 'component' | 'instance';

export type SortIndex = { readonly sort: Sort; readonly index: number };
export type NamedIndex = SortIndex & { readonly name: string };

/** A type by its index, or a primitive one by its name. */
export type TypeUse = number | string;

export type LabelledUse = readonly [label: string, type: TypeUse];

export type ValueDefinition =
  | { readonly kind: 'plain'; readonly word: string }
  | { readonly kind: 'record'; readonly fields: readonly LabelledUse[] }
  | { readonly kind: 'variant'; readonly cases: readonly (readonly [label: string, type: TypeUse | null])[] }
  | { readonly kind: 'list' | 'option'; readonly of: TypeUse }
  | { readonly kind: 'tuple'; readonly elements: readonly TypeUse[] }
  | { readonly kind: 'flags' | 'enum'; readonly names: readonly string[] }
  | { readonly kind: 'result'; readonly ok: TypeUse | null; readonly error: TypeUse | null }
  | { readonly kind: 'own' | 'borrow'; readonly type: number };

export type TypeDefinition =
  | ValueDefinition
  | { readonly kind: 'func'; readonly params: readonly LabelledUse[]; readonly result: TypeUse | null }
  | { readonly kind: 'component-type' | 'instance-type'; readonly declarations: readonly Declaration[] };

export type Alias =
  | { readonly kind: 'export'; readonly sort: Sort; readonly instance: number; readonly name: string }
  | {
      readonly kind: 'core-export';
      readonly sort: CoreSort;
      readonly instance: number;
      readonly name: string;
    }
  | { readonly kind: 'outer'; readonly sort: Sort; readonly count: number; readonly index: number };

/** The declared type of an import or an export. */
export type Description =
  | { readonly kind: 'func' | 'component' | 'instance' | 'type'; readonly type: number }
  | { readonly kind: 'resource' };

export type Extern = { readonly name: string; readonly description: Description };

/** A line of the type of an instance or a component. */
export type Declaration = Placed &
  (
    | { readonly kind: 'type'; readonly type: TypeDefinition }
    | { readonly kind: 'alias'; readonly alias: Alias }
    | ({ readonly kind: 'import' | 'export' } & Extern)
  );

export type CanonOptions = {
  readonly memory: number | null;
  readonly realloc: number | null;
};

export type Canon =
  | { readonly kind: 'lift'; readonly func: number; readonly type: number; readonly options: CanonOptions }
  | { readonly kind: 'lower'; readonly func: number; readonly options: CanonOptions }
  | { readonly kind: 'resource-drop'; readonly type: number };

/** An instance: of a module or component with arguments, or a set of names. */
export type Instantiation =
  | { readonly kind: 'instantiate'; readonly of: number; readonly args: readonly NamedIndex[] }
  | { readonly kind: 'bag'; readonly exports: readonly NamedIndex[] };

export type Definition = Placed &
  (
    | { readonly kind: 'module'; readonly start: number; readonly end: number }
    | { readonly kind: 'component'; readonly component: ComponentSyntax }
    | { readonly kind: 'core-instance' | 'instance'; readonly made: Instantiation }
    | { readonly kind: 'alias'; readonly alias: Alias }
    | { readonly kind: 'type'; readonly type: TypeDefinition }
    | { readonly kind: 'canon'; readonly canon: Canon }
    | ({ readonly kind: 'import' } & Extern)
    | ({ readonly kind: 'export' } & NamedIndex)
  );

export type ComponentSyntax = { readonly definitions: readonly Definition[] };
