/** Types of the component model, in the notation of WIT. */
import type { WitFunction, WitType } from '@palisade/wasm';
import type { AbiName } from './abi.table.ts';

/** A function that a component can import. */
export type WorldRow = {
  /** Without its version. */
  readonly interface: string;
  readonly name: string;
  readonly type: WitFunction;
  /** The function of the ABI whose grant it needs and whose fuel it costs; null: it needs none. */
  readonly abi: AbiName | null;
};

type Pairs<T> = Readonly<Record<string, T>>;

export const list = (element: WitType): WitType => ({ kind: 'list', element });
export const tuple = (...elements: readonly WitType[]): WitType => ({ kind: 'tuple', elements });
export const option = (some: WitType): WitType => ({ kind: 'option', some });
export const enumOf = (...names: readonly string[]): WitType => ({ kind: 'enum', names });
export const flags = (...names: readonly string[]): WitType => ({ kind: 'flags', names });
export const record = (fields: Pairs<WitType>): WitType => ({
  kind: 'record',
  fields: Object.entries(fields),
});
export const variant = (cases: Pairs<WitType | null>): WitType => ({
  kind: 'variant',
  cases: Object.entries(cases),
});
export const result = (ok: WitType | null, error: WitType | null): WitType => ({ kind: 'result', ok, error });
export const own = (resource: string): WitType => ({ kind: 'own', resource });
export const borrow = (resource: string): WitType => ({ kind: 'borrow', resource });

export const func = (params: Pairs<WitType>, returned: WitType | null = null): WitFunction => ({
  params: Object.entries(params),
  result: returned,
});
