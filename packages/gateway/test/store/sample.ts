import { join } from 'node:path';
import Database from 'libsql';
import { onTestFinished } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import { Store, type StoreOptions } from '../../src/store/store.ts';
import { queries } from '../../src/store/transaction.ts';
import { NOTES } from './notes.ts';

export { NOTES };

export type NoteTables = { note: { id: number; text: string } };

const query = queries<NoteTables>();

export const insertNote = query<{ text: string }>()((db, p) =>
  db.insertInto('note').values({ id: null as never, text: p('text') }),
);
export const selectNotes = query()((db) => db.selectFrom('note').selectAll().orderBy('id'));

/** Opens a store of notes, closed with the test. */
export function openNotes(directory: string, options: Partial<StoreOptions> = {}): Store {
  const store = new Store({ directory, migrations: NOTES, busyTimeoutMs: 10_000, nowMs: 0, ...options });
  onTestFinished(() => store.close());
  return store;
}

export function notesIn(store: Store): string[] {
  return store.all(selectNotes, {}).map(({ text }) => text);
}

/** The coded error that an act throws; anything else fails the test. */
export function refusalOf(act: () => unknown): CodedError {
  try {
    act();
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
  throw new Error('Cannot find the refusal: nothing was thrown');
}

/** Holds the write lock of a store, as a process that hangs would. */
export function holdLock(directory: string): Database.Database {
  const db = new Database(join(directory, 'palisade.db'));
  db.exec('BEGIN IMMEDIATE');
  onTestFinished(() => {
    db.close();
  });
  return db;
}
