/*
 * Where fetched packages are kept: a directory for each digest, readable by the user of commands. Its name is not trusted:
 * the tree is compared with its digest each time a server starts from it.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { type Digest, digestBytes } from '../core/digest.ts';
import { isWithin } from '../core/paths.ts';
import { copyTree, examineTree, type TreeFacts } from './tree.ts';

/** Where a jail has directories of its own. */
const OF_THE_JAIL = ['/tmp', '/home/palisade'];
/** For state directories that cannot be shown to a jail. */
const ELSEWHERE = '/var/tmp';
const ALL_ENTER = 0o755;
const OTHERS_WRITE = 0o022;

/**
 * The directory of the packages of a state directory: in it, unless the user of commands cannot enter it (commands of
 * root run as another one) or a jail has something else at its path.
 */
export function packagesIn(stateDir: string): string {
  const real = realpathSync(stateDir);
  const isHidden = process.geteuid?.() === 0 || OF_THE_JAIL.some((place) => isWithin(real, place));
  if (!isHidden) return join(real, 'packages');
  return join(ELSEWHERE, `palisade-packages-${digestBytes(`${process.geteuid?.()} ${real}`).slice(0, 16)}`);
}

/** Keeps a copy of a tree under its digest; `complete` gets the copy before that is computed. */
export function keepPackage<T>(
  directory: string,
  from: string,
  complete: (tree: string) => T,
): TreeFacts & T {
  mkdirSync(directory, { recursive: true, mode: ALL_ENTER });
  requireOwn(directory);
  const unfinished = mkdtempSync(join(directory, '.unfinished-'));
  try {
    const tree = join(unfinished, 'tree');
    copyTree(from, tree);
    const more = complete(tree);
    const facts = examineTree(tree);
    const kept = join(directory, facts.digest);
    // A server may run from what lies there, so it is replaced only where it was changed.
    if (whyNotWhole(directory, facts.digest) !== null) {
      rmSync(kept, { recursive: true, force: true });
      renameSync(tree, kept);
      chmodSync(kept, ALL_ENTER);
    }
    return { ...facts, ...more };
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** The tree of a package; refuses one that is not what was fetched. */
export function requirePackage(directory: string, digest: Digest): string {
  const path = join(directory, digest);
  if (!existsSync(path)) throw changed(path, 'it is missing');
  requireOwn(directory);
  const { digest: now } = examineTree(path);
  // Boundary: what was pinned is what runs, even if others can write to the directory.
  if (now !== digest) throw changed(path, `its files have the digest ${now}`);
  return path;
}

/** Why a package is not what was fetched; null where it is. */
export function whyNotWhole(directory: string, digest: Digest): string | null {
  try {
    requirePackage(directory, digest);
    return null;
  } catch (error) {
    if (error instanceof CodedError) return error.message;
    throw error;
  }
}

/** Removes every package but those that are pinned. */
export function sweepPackages(directory: string, pinned: readonly Digest[]): void {
  if (!existsSync(directory)) return;
  requireOwn(directory);
  for (const name of readdirSync(directory).filter((each) => !pinned.some((digest) => digest === each)))
    rmSync(join(directory, name), { recursive: true, force: true });
}

/** Boundary: a directory that someone else made or can write to could be exchanged after each check. */
function requireOwn(directory: string): void {
  const stats = lstatSync(directory);
  const { uid, mode } = stats;
  if (stats.isDirectory() && uid === process.geteuid?.() && (mode & OTHERS_WRITE) === 0) return;
  throw new CodedError(
    'package/refused',
    `Cannot keep packages in "${directory}": others can write to it, expected a directory of this user alone`,
    { remedy: 'Remove the directory, then run `palisade package add` again.' },
  );
}

function changed(path: string, is: string): CodedError {
  return new CodedError(
    'package/changed',
    `Cannot use the package at "${path}": ${is}, expected what was fetched`,
  );
}
