import type { Migration } from '../store/migrate.ts';

export type RunRow = { call: string; module: string; body: Buffer; bytes: number };
export type ModuleRow = { sha256: string; bytes: Buffer };
/** `seq` is the order of recording: what is oldest goes first. */
export type RecordingTables = { recorded_run: RunRow & { seq: number }; recorded_module: ModuleRow };

/** The tables of this room. */
export const recordingMigrations: readonly Migration[] = [
  {
    id: 'recordings/001',
    sql: `
CREATE TABLE recorded_module (
  sha256 TEXT PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;
CREATE TABLE recorded_run (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  call TEXT NOT NULL UNIQUE,
  module TEXT NOT NULL REFERENCES recorded_module (sha256),
  body BLOB NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;
CREATE INDEX recorded_run_by_module ON recorded_run (module);`,
  },
];
