import type Database from 'libsql';
import type { Query } from './query.ts';

/** Prepared statements of one connection, by their text. */
export class Statements {
  readonly #db: Database.Database;
  readonly #prepared = new Map<string, Database.Statement>();

  constructor(db: Database.Database) {
    this.#db = db;
  }

  all<P, R>(query: Query<P, R>, values: P): R[] {
    const rows = this.#prepare(query.sql()).all(query.bind(values) as unknown[]) as Record<string, unknown>[];
    for (const row of rows) {
      for (const [column, value] of Object.entries(row)) {
        // libsql gives bytes as ArrayBuffer here and as Buffer elsewhere; rooms see Buffer only.
        if (value instanceof ArrayBuffer) row[column] = Buffer.from(value);
      }
    }
    return rows as R[];
  }

  /** The first row; half as dear as all of them when one is wanted. */
  get<P, R>(query: Query<P, R>, values: P): R | undefined {
    const row = this.#prepare(query.sql()).get(query.bind(values) as unknown[]) as
      | Record<string, unknown>
      | undefined;
    // libsql adds how long it took.
    if (row !== undefined) delete row._metadata;
    return row as R | undefined;
  }

  /** Gives how many rows were changed. */
  run<P, R>(query: Query<P, R>, values: P): number {
    return this.#prepare(query.sql()).run(query.bind(values) as unknown[]).changes;
  }

  #prepare(sql: string): Database.Statement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/** Reads rows; what a room is handed when it may look but not change. */
export interface Reader {
  all<P, R>(query: Query<P, R>, values: P): R[];
  get<P, R>(query: Query<P, R>, values: P): R | undefined;
}

/**
 * One open transaction. `once` keeps a value that belongs to this transaction alone (a chain head that several appends
 * move on); `beforeCommit` writes such a value back. Both die with a rollback.
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

  /** Gives how many rows were changed. */
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

  /** Called by the store alone, right before the commit. */
  finish(): void {
    for (const act of this.#last) act();
  }
}
