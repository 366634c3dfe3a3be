import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { storeErrorOf } from '../store/fault-of.ts';
import { STARTER_POLICIES } from './starter.table.ts';

/**
 * Writes the starter policies if there is no such directory yet; an existing one, even empty, is left as it is. Only for
 * a state directory that never had a set: elsewhere a missing directory is an accident, and the starters permit more.
 */
export function seedPolicies(directory: string): boolean {
  if (existsSync(directory)) return false;
  // Written aside and moved into place as a whole, so that no other process ever reads half of it.
  const aside = `${directory}.new-${process.pid}`;
  try {
    writeStarters(aside);
    renameSync(aside, directory);
    return true;
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    // Another process was faster.
    if (existsSync(directory)) return false;
    throw storeErrorOf(error, `write "${directory}"`);
  }
}

function writeStarters(aside: string): void {
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { mode: 0o700, recursive: true });
  for (const [name, text] of Object.entries(STARTER_POLICIES)) {
    writeFileSync(join(aside, name), text, { mode: 0o600, flag: 'wx' });
  }
}
