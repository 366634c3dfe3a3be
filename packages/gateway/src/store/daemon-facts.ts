import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { storeErrorOf } from './fault-of.ts';
import { readPrivateFile } from './private-file.ts';

/*
 * `daemon.json`: which process serves a state directory. It is only a hint: after a crash it may name a process that is
 * gone, and the next daemon replaces it.
 */

/** What a daemon tells the commands of its user about itself. */
export type DaemonFacts = {
  readonly pid: number;
  readonly url: string;
  readonly startedAt: string;
  readonly version: string;
  /** Where it was started: the default workspace of commands, if it is in a root. */
  readonly cwd: string;
  /** The directories in or below which commands may work. */
  readonly roots: readonly string[];
  /** The configuration names them, so that they are those of every process. */
  readonly hasWorkspaces: boolean;
};

const FILE = 'daemon.json';
const MAX_BYTES = 64 * 1024;

/** Writes it atomically, for its owner alone. */
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

/** What the last daemon wrote about itself; null where it is missing or unreliable. */
export function readDaemon(directory: string): DaemonFacts | null {
  try {
    const bytes = readPrivateFile(join(directory, FILE), MAX_BYTES);
    const facts: unknown = bytes === null ? null : JSON.parse(bytes.toString());
    return isFacts(facts) ? facts : null;
  } catch {
    return null;
  }
}

/** Boundary: a file from another version, or an edited one, must match the shape before it is used. */
function isFacts(value: unknown): value is DaemonFacts {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, url, startedAt, version, cwd, roots, hasWorkspaces } = value as Partial<
    Record<string, unknown>
  >;
  const texts = [url, startedAt, version, cwd];
  return (
    Number.isSafeInteger(pid) &&
    texts.every((text) => typeof text === 'string') &&
    Array.isArray(roots) &&
    roots.every((root) => typeof root === 'string') &&
    typeof hasWorkspaces === 'boolean'
  );
}

/** Removes it: no process serves the state directory any more. */
export function forgetDaemon(directory: string): void {
  rmSync(join(directory, FILE), { force: true });
}
