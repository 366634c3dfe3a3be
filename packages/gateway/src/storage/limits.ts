import { STORAGE_KEY_BYTES } from '../core/storage-key.ts';

/** What one space takes at most. Every number bounds what a skill can make the gateway keep or read at once. */
export const STORAGE_LIMITS = {
  /** Of a key in UTF-8. */
  keyBytes: STORAGE_KEY_BYTES,
  valueBytes: 1_048_576,
  /** Entries on one page of a list. */
  listEntries: 1_000,
  /** Requests of one call that wait for the disk; each may hold a whole value in memory. */
  pending: 64,
} as const;

/** How much one space may hold. */
export type Quota = {
  /** Of all keys and all values together. */
  readonly bytes: number;
  readonly keys: number;
};

export const DEFAULT_QUOTA: Quota = { bytes: 67_108_864, keys: 100_000 };
