import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { storeErrorOf } from './fault-of.ts';
import { readPrivateFile } from './private-file.ts';

/*
 * `daemon.json`: who serves a state directory. It is only a hint: after a crash it may name a process that is gone, and
 * the next daemon writes it anew.
 */

/** What a daemon says of itself to the commands of its user. */
export type DaemonFacts = {
  readonly pid: number;
  readonly url: string;
  readonly startedAt: string;
  readonly version: string;
  /** Where it was started: the workspace of commands that name none. */
  readonly cwd: string;
  /** The operator named the directories that commands may work in, so that it does not matter where it was started. */
  readonly hasWorkspaces: boolean;
};

const FILE = 'daemon.json';
const MAX_BYTES = 64 * 1024;

/** Writes it in one step, for its owner alone. */
export function writeDaemon(directory: string, facts: DaemonFacts): void {
  const path = join(directory, FILE);
  const fresh = `${path}.new`;
  try {
    rmSync(fresh, { force: true });
    writeFileSync(fresh, `${JSON.stringify(facts)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(fresh, path);
  } catch (error) {
    throw storeErrorOf(error, `write "${path}"`);
  }
}

/** What the last daemon said of itself; null where there is none, or nothing that can be relied on. */
export function readDaemon(directory: string): DaemonFacts | null {
  try {
    const bytes = readPrivateFile(join(directory, FILE), MAX_BYTES);
    const facts: unknown = bytes === null ? null : JSON.parse(bytes.toString());
    return isFacts(facts) ? facts : null;
  } catch {
    return null;
  }
}

/** Boundary: a file from another version, or one that somebody wrote, is held to the shape before it is used. */
function isFacts(value: unknown): value is DaemonFacts {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, url, startedAt, version, cwd, hasWorkspaces } = value as Partial<Record<string, unknown>>;
  const texts = [url, startedAt, version, cwd];
  return (
    Number.isSafeInteger(pid) &&
    texts.every((text) => typeof text === 'string') &&
    typeof hasWorkspaces === 'boolean'
  );
}

export function forgetDaemon(directory: string): void {
  rmSync(join(directory, FILE), { force: true });
}
