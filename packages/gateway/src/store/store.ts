import Database from 'libsql';
import { CodedError } from '../core/coded-error.ts';
import { storeErrorOf } from './fault-of.ts';
import { type Migration, migrate } from './migrate.ts';
import type { Query } from './query.ts';
import { prepareDatabaseFile, prepareStateDir } from './state-dir.ts';
import { type Reader, Statements, Transaction } from './transaction.ts';

/*
 * The store opens one SQLite database in write-ahead mode with full synchronisation: what `commit` has resolved survives
 * a power cut. It knows no table; each room brings its migrations and its statements.
 *
 * Group commit: works queued in the same turn of the event loop share one transaction and so one flush of the disk.
 * When one of them throws, the shared transaction is rolled back and each runs again alone, so that no work can take its
 * neighbours down; a work must therefore change nothing but rows. Several processes may use one database: a transaction
 * takes the write lock first (BEGIN IMMEDIATE) and waits for at most `busyTimeoutMs`.
 */

type Work<T> = (tx: Transaction) => T;
type Waiting = { work: Work<unknown>; resolve: (value: never) => void; reject: (error: unknown) => void };

/** Bounds how long one transaction holds the write lock against other processes. */
const MAX_WORKS_PER_COMMIT = 256;
const DATABASE = 'palisade.db';

export type StoreOptions = {
  readonly directory: string;
  readonly migrations: readonly Migration[];
  readonly busyTimeoutMs: number;
  readonly nowMs: number;
};

export class Store implements Reader {
  readonly directory: string;
  readonly #db: Database.Database;
  readonly #statements: Statements;
  #queue: Waiting[] = [];
  #scheduled = false;

  constructor(options: StoreOptions) {
    this.directory = options.directory;
    prepareStateDir(options.directory);
    const path = prepareDatabaseFile(options.directory, DATABASE);
    try {
      this.#db = new Database(path);
      this.#db.exec(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
      this.#db.exec('PRAGMA journal_mode = WAL');
      this.#db.exec('PRAGMA synchronous = FULL');
      this.#db.exec('PRAGMA foreign_keys = ON');
      this.#db.exec('PRAGMA temp_store = MEMORY');
      this.#db.exec('PRAGMA journal_size_limit = 67108864');
      migrate(this.#db, options.migrations, options.nowMs);
    } catch (error) {
      throw storeErrorOf(error, `open "${path}"`);
    }
    this.#statements = new Statements(this.#db);
  }

  all<P, R>(query: Query<P, R>, values: P): R[] {
    try {
      return this.#statements.all(query, values);
    } catch (error) {
      throw storeErrorOf(error, 'read the database');
    }
  }

  get<P, R>(query: Query<P, R>, values: P): R | undefined {
    return this.all(query, values)[0];
  }

  /** Durable once resolved. The work may run more than once and must change nothing but rows. */
  commit<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: never) => void, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    });
  }

  /** The same in one go, for starts and ends where nothing else goes on. */
  transact<T>(work: Work<T>): T {
    try {
      this.#db.exec('BEGIN IMMEDIATE');
    } catch (error) {
      throw storeErrorOf(error, 'write the database');
    }
    try {
      const tx = new Transaction(this.#statements);
      const result = work(tx);
      tx.finish();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      throw storeErrorOf(error, 'write the database');
    }
  }

  close(): void {
    while (this.#queue.length > 0) this.#flush();
    this.#db.close();
  }

  #flush(): void {
    this.#scheduled = false;
    const batch = this.#queue.splice(0, MAX_WORKS_PER_COMMIT);
    if (this.#queue.length > 0) {
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    }
    if (batch.length === 0) return;
    try {
      const results = this.transact((tx) => batch.map(({ work }) => work(tx)));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as never);
    } catch (error) {
      // A disk that is full or locked is so for all of them; an error of one work is its own.
      if (batch.length === 1 || isOfStore(error)) for (const { reject } of batch) reject(error);
      else this.#flushOneByOne(batch);
    }
  }

  #flushOneByOne(batch: readonly Waiting[]): void {
    for (const { work, resolve, reject } of batch) {
      try {
        resolve(this.transact(work) as never);
      } catch (error) {
        reject(error);
      }
    }
  }
}

function isOfStore(error: unknown): boolean {
  return error instanceof CodedError && error.code.startsWith('store/');
}
