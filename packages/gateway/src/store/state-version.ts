import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { CodedError } from '../core/coded-error.ts';
import { shellWord } from '../core/hostile-text.ts';
import { type Backup, copyInto, listBackups, makeBackup, putBack } from './backups.ts';
import { readDaemon } from './daemon-facts.ts';
import { lockDaemon } from './daemon-lock.ts';
import { storeErrorOf } from './fault-of.ts';
import { type Migration, type MigrationStatus, migrate, readStatus } from './migrate.ts';
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

/** A copy of the database that was upgraded, in a directory of its own, and what SQLite finds wrong in it. */
export type Trial = {
  readonly directory: string;
  readonly problems: readonly string[];
  readonly remove: () => void;
};

/** Upgrades a copy and looks at the result; the state directory itself stays as it is. */
export function tryUpgrade(directory: string, migrations: readonly Migration[], about: About): Trial {
  try {
    const folder = mkdtempSync(join(directory, 'upgrade-check-'));
    const remove = () => rmSync(folder, { recursive: true, force: true });
    try {
      const copy = join(folder, 'palisade.db');
      copyInto(join(directory, 'palisade.db'), copy);
      const db = new Database(copy);
      try {
        migrate(db, { ...about, directory, migrations, prepare: () => undefined });
        const found = db.prepare('PRAGMA integrity_check').raw().all([]) as [string][];
        const foreign = db.prepare('PRAGMA foreign_key_check').raw().all([]) as [string][];
        const lost = foreign.map(([table]) => `a row of "${table}" refers to one that is missing`);
        return {
          directory: folder,
          problems: [...found.flat().filter((text) => text !== 'ok'), ...lost],
          remove,
        };
      } finally {
        db.close();
      }
    } catch (error) {
      remove();
      throw error;
    }
  } catch (error) {
    throw storeErrorOf(error, `try the upgrade of "${directory}"`);
  }
}

/** The backup of that name. */
export function requireBackup(directory: string, name: string): Backup {
  const found = listBackups(directory).find((backup) => backup.name === name);
  if (found !== undefined) return found;
  throw new CodedError(
    'door/wrong-usage',
    `Cannot go back to "${name}": it is not a backup of "${directory}", expected the name of one`,
    { remedy: 'Run `palisade upgrade --check` to see the backups.' },
  );
}

/** Puts back the backup of that name, after what is there now was kept as one, too; gives that one. */
export function restoreState(
  directory: string,
  name: string,
  about: About,
): { restored: Backup; kept: Backup } {
  const restored = requireBackup(directory, name);
  const lock = lockDaemon(directory);
  try {
    demandAlone(directory, `go back to "${name}"`);
    const status = inspectState(directory, []);
    const kept = makeBackup(directory, status ?? { applied: [], pending: [], unknown: [], different: [] }, {
      ...about,
      spare: name,
    });
    putBack(directory, restored);
    return { restored, kept };
  } finally {
    lock.close();
  }
}

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
