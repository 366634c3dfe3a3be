import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';

/**
 * Statements are built by kysely, typed by the room's own table types, compiled once per program and prepared once per
 * connection. `p('name')` stands for a value that is given at each run.
 */
export type Query<P, R> = {
  readonly sql: () => string;
  readonly bind: (values: P) => readonly unknown[];
  /** Never present; it carries the row type. */
  readonly row?: R;
};

type Compilable<R> = {
  compile: () => { sql: string; parameters: readonly unknown[] };
  execute: () => Promise<R[]>;
};

class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A kysely instance that builds and compiles but has no connection of its own. */
export function builder<Tables>(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

/** Stands for the value `name` in a statement; typed as whatever the column wants. */
// biome-ignore lint/suspicious/noExplicitAny: a placeholder takes the type of every column; the run is typed by P.
export type Placeholder<P> = (name: keyof P & string) => any;

/** Makes the statements of one room. */
export function queries<Tables>() {
  const db = builder<Tables>();
  return function query<P extends object = Record<never, never>>() {
    return <R>(build: (db: Kysely<Tables>, p: Placeholder<P>) => Compilable<R>): Query<P, R> => {
      let compiled:
        | { sql: string; names: (string | undefined)[]; parameters: readonly unknown[] }
        | undefined;
      const once = () => {
        if (compiled === undefined) {
          const { sql, parameters } = build(db, (name) => new Parameter(name)).compile();
          const names = parameters.map((value) => (value instanceof Parameter ? value.name : undefined));
          compiled = { sql, parameters, names };
        }
        return compiled;
      };
      return {
        sql: () => once().sql,
        bind: (values) => {
          const { parameters, names } = once();
          return names.map((name, i) => (name === undefined ? parameters[i] : values[name as keyof P]));
        },
      };
    };
  };
}
