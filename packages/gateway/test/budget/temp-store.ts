import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Migration } from '../../src/store/migrate.ts';
import { Store } from '../../src/store/store.ts';

/** A directory of its own for one test, gone with it. */
export function tempDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'palisade-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens the database in a directory, closed with the test. */
export function openStore(directory: string, migrations: readonly Migration[]): Store {
  const store = new Store({ directory, migrations, busyTimeoutMs: 60_000, nowMs: 0 });
  onTestFinished(() => store.close());
  return store;
}
