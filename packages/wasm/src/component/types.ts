/** The types of the component model that our worlds can have; others (streams, futures, …) are refused by name. */

/** In the order of their bytes in a component. */
export const PLAIN_TYPES = [
  'bool',
  's8',
  'u8',
  's16',
  'u16',
  's32',
  'u32',
  's64',
  'u64',
  'f32',
  'f64',
  'char',
  'string',
] as const;

export type PlainType = (typeof PLAIN_TYPES)[number];

export type WitType =
  | PlainType
  | { readonly kind: 'list'; readonly element: WitType }
  | { readonly kind: 'record'; readonly fields: readonly Named<WitType>[] }
  | { readonly kind: 'tuple'; readonly elements: readonly WitType[] }
  | { readonly kind: 'variant'; readonly cases: readonly Named<WitType | null>[] }
  | { readonly kind: 'enum'; readonly names: readonly string[] }
  | { readonly kind: 'flags'; readonly names: readonly string[] }
  | { readonly kind: 'option'; readonly some: WitType }
  | { readonly kind: 'result'; readonly ok: WitType | null; readonly error: WitType | null }
  /** A handle; `resource` is `interface/name`, the interface with its version. */
  | { readonly kind: 'own' | 'borrow'; readonly resource: string };

export type Named<T> = readonly [name: string, value: T];

export type WitFunction = {
  readonly params: readonly Named<WitType>[];
  readonly result: WitType | null;
};

/** A function that a component may import, and what the linked module imports in its place. */
export type WorldImport = {
  readonly module: string;
  readonly name: string;
  readonly type: WitFunction;
};

/** What a component must fit before anything of it is linked. */
export type World = {
  /** Whether an interface may be imported at all, also for its types alone. */
  readonly knows: (interfaceName: string) => boolean;
  /** A function of such an interface (also `[method]…`, `[static]…`, `[resource-drop]…`); null: it is refused by name. */
  readonly find: (interfaceName: string, functionName: string) => WorldImport | null;
  /** Functions that the component has to export, by their names. */
  readonly exports: Readonly<Record<string, WitFunction>>;
};
