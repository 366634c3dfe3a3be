import type { Guest } from './guest.ts';
import { type GuestValue, isNumberType, JS_TYPES, type NumberType, type Signature } from './value.ts';

type ValueOf<Name> = Name extends 'i64' ? bigint : number;
type ValuesOf<Names extends readonly NumberType[]> = { [Index in keyof Names]: ValueOf<Names[Index]> };
type ResultOf<Names extends readonly NumberType[]> = Names extends readonly []
  ? undefined
  : Names extends readonly [infer Only]
    ? ValueOf<Only>
    : Readonly<ValuesOf<Names>>;

/** One row of the table of host functions: what a guest can import, what a call of it costs, and what it does. */
export type HostFunction = {
  readonly module: string;
  readonly name: string;
  readonly params: readonly NumberType[];
  readonly results: readonly NumberType[];
  /** Fuel of one call, paid before it runs. What depends on the arguments is paid with `guest.charge`. */
  readonly fuel: number;
  /** It may take long whatever its fuel says, so the clock is read before and after each call. */
  readonly blocks?: boolean;
  /** Synchronous; `guest` and every view of its memory are valid until this returns. */
  run(guest: Guest, ...values: never[]): unknown;
};

/** A row whose `run` takes and returns what its `params` and `results` say. */
export type TypedHostFunction<
  Params extends readonly NumberType[],
  Results extends readonly NumberType[],
> = Omit<HostFunction, 'params' | 'results' | 'run'> & {
  readonly params: Params;
  readonly results: Results;
  run(guest: Guest, ...values: ValuesOf<Params>): ResultOf<Results>;
};

/** What the meter has to know of a host function: module, name, fuel. */
export type Price = readonly [module: string, name: string, fuel: number];

/** A checked row. */
export type HostRow = Signature & {
  readonly module: string;
  readonly name: string;
  readonly fuel: number;
  readonly blocks: boolean;
  readonly run: (guest: Guest, ...values: GuestValue[]) => unknown;
};

/** Host functions that were checked and can no longer change. Made by `hostTable` only. */
export class HostTable {
  readonly #rows: ReadonlyMap<string, HostRow>;

  /** @internal */
  constructor(rows: ReadonlyMap<string, HostRow>) {
    this.#rows = rows;
  }

  find(module: string, name: string): HostRow | undefined {
    const row = this.#rows.get(`${module}.${name}`);
    return row?.module === module ? row : undefined;
  }

  /** Every row's price, in a fixed order. */
  prices(): readonly Price[] {
    return [...this.#rows]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { module, name, fuel }]) => [module, name, fuel]);
  }
}

/** Gives a row's `run` the types that its `params` and `results` say. */
export function hostFunction<
  const Params extends readonly NumberType[],
  const Results extends readonly NumberType[],
>(row: TypedHostFunction<Params, Results>): HostFunction {
  return row as HostFunction;
}

/** Checks rows and copies them into a table; two rows with the same `module.name` are refused. */
export function hostTable(rows: readonly HostFunction[]): HostTable {
  const table = new Map<string, HostRow>();
  for (const row of rows) {
    const key = `${row.module}.${row.name}`;
    if (table.has(key)) throw new TypeError(`Cannot make host table: ${key} is there twice, expected once`);
    table.set(key, readRow(row, key));
  }
  return new HostTable(table);
}

/** The table of a guest that imports nothing. */
export const NO_HOSTS = new HostTable(new Map());

function readRow(row: HostFunction, key: string): HostRow {
  const { module, name, params, results, fuel, run } = row;
  if (module === 'palisade') {
    throw new TypeError(`Cannot make host table: ${key} is in module "palisade", expected one of your own`);
  }
  for (const type of [...params, ...results]) {
    if (isNumberType(type)) continue;
    throw new TypeError(
      `Cannot make host table: ${key} has type ${String(type)}, expected one of ${Object.keys(JS_TYPES).join(', ')}`,
    );
  }
  if (!Number.isSafeInteger(fuel) || fuel < 0) {
    throw new TypeError(
      `Cannot make host table: the fuel of ${key} is ${String(fuel)}, expected a whole number`,
    );
  }
  const signature = { params: Object.freeze([...params]), results: Object.freeze([...results]) };
  // The table is what types a row, so inside it is one shape for all.
  const untyped = run as HostRow['run'];
  return Object.freeze({ module, name, ...signature, fuel, blocks: row.blocks === true, run: untyped });
}
