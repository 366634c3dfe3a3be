import type { Migration } from '../../src/store/migrate.ts';

export const NOTES: readonly Migration[] = [
  { id: 'note/001', sql: 'CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT' },
];
