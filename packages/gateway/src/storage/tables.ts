import type { Migration } from '../store/migrate.ts';

export type SpaceRow = {
  id: number;
  tenant: string;
  skill: string;
  /** Of all keys and values, kept in step with every write. */
  bytes: number;
  keys: number;
  /** The version of the last write. It outlives what was written, so that no version comes twice. */
  last_version: number;
};

export type ValueRow = { id: number; space: number; key: string; version: number; value: Buffer };

export type StorageTables = { storage_space: SpaceRow; storage_value: ValueRow };

/** The tables of this room. Keys are compared by their bytes, which is how SQLite compares text. */
export const storageMigrations: readonly Migration[] = [
  {
    id: 'storage/001',
    sql: `
CREATE TABLE storage_space (
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  skill TEXT NOT NULL,
  bytes INTEGER NOT NULL CHECK (bytes >= 0),
  keys INTEGER NOT NULL CHECK (keys >= 0),
  last_version INTEGER NOT NULL CHECK (last_version >= 0),
  UNIQUE (tenant, skill)
) STRICT;
CREATE TABLE storage_value (
  id INTEGER PRIMARY KEY,
  space INTEGER NOT NULL REFERENCES storage_space (id),
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  value BLOB NOT NULL,
  UNIQUE (space, key)
) STRICT;`,
  },
];
