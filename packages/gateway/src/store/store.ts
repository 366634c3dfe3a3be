import Database from 'libsql';
import { CodedError } from '../core/coded-error.ts';
import { VERSION } from '../version.ts';
import { isBusy, storeErrorOf } from './fault-of.ts';
import { type MigrateOptions, type Migration, type MigrationStatus, migrate } from './migrate.ts';
import { prepareDatabaseFile, prepareStateDir } from './state-dir.ts';
import { prepareMigration } from './state-version.ts';
import { type Query, type Reader, Statements, Transaction } from './transaction.ts';

/*
 * The store opens one SQLite database in write-ahead mode with full synchronisation: what `commit` has resolved
 * survives a power cut. It knows no tables; each module has its own migrations and statements.
 *
 * Group commit: tasks queued in the same turn of the event loop share one transaction and so one flush of the disk.
 * When one of them throws, the shared transaction is rolled back and each runs again alone, so that no task can affect
 * its neighbours; a task must therefore change nothing but rows. Several processes may use one database: a transaction
 * takes the write lock first (BEGIN IMMEDIATE). Waiting for it happens in short turns, so that a busy neighbour never
 * stops our timers and signals, and ends with `store/locked` after about `busyTimeoutMs`.
 */

type Work<T> = (tx: Transaction) => T;
type Waiting = { work: Work<unknown>; resolve: (value: never) => void; reject: (error: unknown) => void };

/** Bounds how long one transaction holds the write lock against other processes. */
const MAX_WORKS_PER_COMMIT = 256;
const DATABASE = 'palisade.db';
/** For a new database. Two or three records fit a page instead of one, so that a group of them writes a third less. */
const PAGE_BYTES = 8192;
/** The log is checkpointed into the database at this many pages (32 MiB), which the current commit waits for. */
const LOG_PAGES = 4000;
/** The duration of one wait for the lock. */
const TURN_MS = 25;

export type StoreOptions = {
  readonly directory: string;
  readonly migrations: readonly Migration[];
  readonly busyTimeoutMs: number;
  readonly nowMs: number;
  /** Who changes the tables, for those who find them changed. */
  readonly version?: string;
};

const PRAGMAS = [
  `busy_timeout = ${TURN_MS}`,
  `page_size = ${PAGE_BYTES}`,
  'journal_mode = WAL',
  `wal_autocheckpoint = ${LOG_PAGES}`,
  'synchronous = FULL',
  'foreign_keys = ON',
  'temp_store = MEMORY',
  'journal_size_limit = 67108864',
];

export class Store implements Reader {
  readonly directory: string;
  readonly #db: Database.Database;
  readonly #statements: Statements;
  readonly #maxTurns: number;
  #queue: Waiting[] = [];
  #scheduled = false;
  #turns = 0;

  constructor(options: StoreOptions) {
    this.directory = options.directory;
    this.#maxTurns = Math.ceil(options.busyTimeoutMs / TURN_MS);
    prepareStateDir(options.directory);
    const path = prepareDatabaseFile(options.directory, DATABASE);
    try {
      this.#db = new Database(path);
      for (const pragma of PRAGMAS) this.#patiently(() => this.#db.exec(`PRAGMA ${pragma}`));
      this.#patiently(() => migrate(this.#db, migrationOf(options)));
    } catch (error) {
      throw storeErrorOf(error, `open "${path}"`);
    }
    this.#statements = new Statements(this.#db);
  }

  all<P, R>(query: Query<P, R>, values: P): R[] {
    return this.#read(() => this.#statements.all(query, values));
  }

  get<P, R>(query: Query<P, R>, values: P): R | undefined {
    return this.#read(() => this.#statements.get(query, values));
  }

  /** Durable once resolved. The task may run more than once and must change nothing but rows. */
  commit<T>(work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: never) => void, reject });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    });
  }

  /** The same, synchronously, for starts and ends where nothing else is going on. */
  transact<T>(work: Work<T>): T {
    try {
      this.#patiently(() => this.#db.exec('BEGIN IMMEDIATE'));
    } catch (error) {
      throw storeErrorOf(error, 'write the database');
    }
    return this.#finish(work);
  }

  /** The same if no other process is writing at the moment; else does nothing and returns undefined. */
  transactIfFree<T>(work: Work<T>): T | undefined {
    return this.#begin() ? this.#finish(work) : undefined;
  }

  close(): void {
    this.#flushOneByOne(this.#queue.splice(0));
    this.#db.close();
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#queue.length === 0) return;
    if (!this.#beginOrReject()) return;
    this.#turns = 0;
    const batch = this.#queue.splice(0, MAX_WORKS_PER_COMMIT);
    if (this.#queue.length > 0) {
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    }
    try {
      const results = this.#finish((tx) => batch.map(({ work }) => work(tx)));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as never);
    } catch (error) {
      // A full disk affects all of them; an error of one task is its own.
      if (batch.length === 1 || isOfStore(error)) this.#reject(batch, error);
      else this.#flushOneByOne(batch);
    }
  }

  #beginOrReject(): boolean {
    try {
      if (this.#begin()) return true;
      this.#waitOneTurn();
    } catch (error) {
      this.#reject(this.#queue.splice(0), error);
    }
    return false;
  }

  #waitOneTurn(): void {
    this.#turns += 1;
    if (this.#turns <= this.#maxTurns) {
      this.#scheduled = true;
      setTimeout(() => this.#flush(), 1);
      return;
    }
    this.#turns = 0;
    const message = 'Cannot write the database: another process holds it';
    this.#reject(this.#queue.splice(0), new CodedError('store/locked', message));
  }

  #reject(batch: readonly Waiting[], error: unknown): void {
    for (const { reject } of batch) reject(error);
  }

  /** False when another process holds the lock for a whole turn. */
  #begin(): boolean {
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      return true;
    } catch (error) {
      if (isBusy(error)) return false;
      throw storeErrorOf(error, 'write the database');
    }
  }

  #finish<T>(work: Work<T>): T {
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

  #read<T>(act: () => T): T {
    try {
      return this.#patiently(act);
    } catch (error) {
      throw storeErrorOf(error, 'read the database');
    }
  }

  /** Each attempt waits for one turn inside SQLite. */
  #patiently<T>(act: () => T): T {
    for (let turn = 1; ; turn++) {
      try {
        return act();
      } catch (error) {
        if (turn >= this.#maxTurns || !isBusy(error)) throw error;
      }
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

function migrationOf({ directory, migrations, nowMs, version = VERSION }: StoreOptions): MigrateOptions {
  const prepare = (status: MigrationStatus) => prepareMigration(directory, status, { version, nowMs });
  return { directory, migrations, nowMs, version, prepare };
}

function isOfStore(error: unknown): boolean {
  return error instanceof CodedError && error.code.startsWith('store/');
}
