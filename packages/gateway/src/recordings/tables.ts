import type { Migration } from '../store/migrate.ts';

export type RunRow = { call: string; module: string; body: Buffer; bytes: number };
export type ModuleRow = { sha256: string; bytes: Buffer };
/** `seq` is the order of recording: what is oldest goes first. The total is kept by the database, modules included. */
export type RecordingTables = {
  recorded_run: RunRow & { seq: number };
  recorded_module: ModuleRow;
  recorded_total: { bytes: number };
};

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
  {
    id: 'recordings/002',
    // To add up all rows takes a tenth of a second and more where there are many, at every call.
    sql: `
CREATE TABLE recorded_total (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  bytes INTEGER NOT NULL
) STRICT;
INSERT INTO recorded_total SELECT 1,
  (SELECT coalesce(sum(bytes), 0) FROM recorded_run) + (SELECT coalesce(sum(length(bytes)), 0) FROM recorded_module);
CREATE TRIGGER recorded_run_came AFTER INSERT ON recorded_run BEGIN
  UPDATE recorded_total SET bytes = bytes + NEW.bytes;
END;
CREATE TRIGGER recorded_run_went AFTER DELETE ON recorded_run BEGIN
  UPDATE recorded_total SET bytes = bytes - OLD.bytes;
END;
CREATE TRIGGER recorded_module_came AFTER INSERT ON recorded_module BEGIN
  UPDATE recorded_total SET bytes = bytes + length(NEW.bytes);
END;
CREATE TRIGGER recorded_module_went AFTER DELETE ON recorded_module BEGIN
  UPDATE recorded_total SET bytes = bytes - length(OLD.bytes);
END;`,
  },
];
