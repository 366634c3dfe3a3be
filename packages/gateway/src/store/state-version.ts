import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { CodedError } from '../core/coded-error.ts';
import { shellWord } from '../core/hostile-text.ts';
import { makeBackup } from './backups.ts';
import { readDaemon } from './daemon-lock.ts';
import { storeErrorOf } from './fault-of.ts';
import { type Migration, type MigrationStatus, readStatus } from './migrate.ts';
import { liveProcesses } from './presence.ts';

/* What version a state directory has, and what must hold before it gets another one. */

/** Compares a state directory with this program and changes nothing in it; null where there is none yet. */
export function inspectState(directory: string, migrations: readonly Migration[]): MigrationStatus | null {
  const path = join(directory, 'palisade.db');
  if (!existsSync(path)) return null;
  try {
    const db = new Database(path);
    try {
      db.exec('PRAGMA busy_timeout = 5000');
      return readStatus(db, migrations);
    } finally {
      db.close();
    }
  } catch (error) {
    throw storeErrorOf(error, `open "${path}"`);
  }
}

type About = { readonly version: string; readonly nowMs: number };

/** Called with the write lock held: no older process goes on with the new tables, and what was before can be had back. */
export function prepareMigration(directory: string, status: MigrationStatus, about: About): void {
  demandAlone(directory, `upgrade "${directory}" to palisade ${about.version}`);
  makeBackup(directory, status, about);
}

/** Boundary: a process that knows other tables would write by other rules. */
export function demandAlone(directory: string, act: string): void {
  const processes = liveProcesses(directory);
  if (processes.length === 0) return;
  const daemon = readDaemon(directory);
  const pids = [...new Set(processes.flatMap(({ pid }) => pid ?? []))];
  const serving = daemon === null ? '' : `; palisade ${daemon.version} serves it as process ${daemon.pid}`;
  const named = pids.length === 0 ? '' : ` (${pids.map((pid) => `process ${pid}`).join(', ')})`;
  const count = processes.length === 1 ? 'another process uses it' : `${processes.length} processes use it`;
  const stop =
    pids.length === 0
      ? 'End them (agents start `palisade mcp`; `palisade service status` shows a daemon)'
      : `End them with \`kill ${pids.join(' ')}\`; agents start \`palisade mcp\` again by themselves`;
  throw new CodedError('store/locked', `Cannot ${act}: ${count}${named}${serving}`, {
    remedy: `${stop}. Then run the command again. State directory: ${shellWord(directory)}.`,
  });
}
