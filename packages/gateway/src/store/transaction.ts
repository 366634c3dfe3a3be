import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type Database from 'libsql';
import { cached } from '../core/cached.ts';

/** Prepared statements of one connection, by their text. */
export class Statements {
  readonly #db: Database.Database;
  readonly #prepared = new Map<string, Database.Statement>();

  constructor(db: Database.Database) {
    this.#db = db;
  }

  all<P, R>(query: Query<P, R>, values: P): R[] {
    const rows = this.#prepare(query.sql(values)).all(query.bind(values) as unknown[]) as Record<
      string,
      unknown
    >[];
    for (const row of rows) {
      for (const [column, value] of Object.entries(row)) {
        // libsql returns bytes as ArrayBuffer here and as Buffer elsewhere; modules only see Buffer.
        if (value instanceof ArrayBuffer) row[column] = Buffer.from(value);
      }
    }
    return rows as R[];
  }

  /** The first row; half the cost of all rows when only one is needed. */
  get<P, R>(query: Query<P, R>, values: P): R | undefined {
    const row = this.#prepare(query.sql(values)).get(query.bind(values) as unknown[]) as
      | Record<string, unknown>
      | undefined;
    // libsql adds the duration.
    if (row !== undefined) delete row._metadata;
    return row as R | undefined;
  }

  /** Returns how many rows were changed. */
  run<P, R>(query: Query<P, R>, values: P): number {
    return this.#prepare(query.sql(values)).run(query.bind(values) as unknown[]).changes;
  }

  #prepare(sql: string): Database.Statement {
    return cached(this.#prepared, sql, () => this.#db.prepare(sql));
  }
}

/** Reads rows; for modules that may read but not change. */
export interface Reader {
  all<P, R>(query: Query<P, R>, values: P): R[];
  get<P, R>(query: Query<P, R>, values: P): R | undefined;
}

/**
 * One open transaction. `once` keeps a value that belongs to this transaction alone (a chain head that several appends
 * advance); `beforeCommit` writes such a value back. A rollback discards both.
 */
export class Transaction implements Reader {
  readonly #statements: Statements;
  readonly #kept = new Map<unknown, unknown>();
  readonly #last: (() => void)[] = [];

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  all<P, R>(query: Query<P, R>, values: P): R[] {
    return this.#statements.all(query, values);
  }

  get<P, R>(query: Query<P, R>, values: P): R | undefined {
    return this.#statements.get(query, values);
  }

  /** Returns how many rows were changed. */
  run<P, R>(query: Query<P, R>, values: P): number {
    return this.#statements.run(query, values);
  }

  once<T>(key: unknown, make: () => T): T {
    if (!this.#kept.has(key)) this.#kept.set(key, make());
    return this.#kept.get(key) as T;
  }

  beforeCommit(act: () => void): void {
    this.#last.push(act);
  }

  /** Called only by the store, right before the commit. */
  finish(): void {
    for (const act of this.#last) act();
  }
}

/**
 * Statements are built by kysely, typed by the module's own table types, compiled once per program and prepared once
 * per connection. `p('name')` is a placeholder for a value that is passed at each run.
 */
export type Query<P, R> = {
  readonly sql: (values: P) => string;
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

/** A kysely instance that builds and compiles but has no connection. */
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

type OnConflict = 'fail' | 'keep' | 'replace';

/** A statement that inserts a row; the keys of the row are the columns. */
export function insertInto<Row extends object>(
  table: string,
  onConflict: OnConflict = 'fail',
): Query<Row, never> {
  const insert = onConflict === 'replace' ? 'insert or replace' : 'insert';
  const otherwise = onConflict === 'keep' ? 'on conflict do nothing' : '';
  return {
    sql: (row) => {
      const columns = Object.keys(row);
      return `${insert} into ${table} (${columns}) values (${columns.map(() => '?')}) ${otherwise}`;
    },
    bind: (row) => Object.values(row),
  };
}

/** A statement that is built for its values, such as a search; to be run without others. */
export function adHoc<R>(built: Compilable<R>): Query<Record<never, never>, R> {
  const { sql, parameters } = built.compile();
  return { sql: () => sql, bind: () => parameters };
}

/** The placeholder of the value `name` in a statement; typed as whatever the column needs. */
// biome-ignore lint/suspicious/noExplicitAny: a placeholder takes the type of every column; the run is typed by P.
export type Placeholder<P> = (name: keyof P & string) => any;

export function queries<Tables>() {
  const db = builder<Tables>();
  return function query<P extends object = Record<never, never>>() {
    return <R>(build: (db: Kysely<Tables>, p: Placeholder<P>) => Compilable<R>): Query<P, R> => {
      let compiled: ReturnType<Compilable<R>['compile']> | undefined;
      const once = () => {
        compiled ??= build(db, (name) => new Parameter(name)).compile();
        return compiled;
      };
      return {
        sql: () => once().sql,
        bind: (values) =>
          once().parameters.map((each) => (each instanceof Parameter ? values[each.name as keyof P] : each)),
      };
    };
  };
}
