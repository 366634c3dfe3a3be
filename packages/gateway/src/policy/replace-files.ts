import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { type Digest, digestValue } from '../core/digest.ts';
import { storeErrorOf } from '../store/fault-of.ts';
import { flushFolder, writeWhole } from '../store/whole-file.ts';
import { isPolicyFileName, type PolicyFilesRead, policyNames } from './policy-files.ts';
import type { PolicyFile } from './policy-set.ts';

/*
 * Puts other files in the place of the policy files: all of them or none, also where the process ends in between. The
 * texts are written aside; then one small file, the plan, says which of them get which name and what goes. Once the
 * plan is on the disk it is carried out, by this process or by the next one that looks, and no set is read before that.
 * Other files in the folder are not touched.
 *
 * Trust: anyone who can write to the folder controls the policies, and could as well edit them by hand.
 */

const PLAN = '.replacing';
/** Files that a process left that ended before its plan was written. */
const LEFT = /^\.[a-z0-9-]+\.cedar\.next(?:\.|$)|^\.replacing\../;

type Plan = {
  readonly write: readonly string[];
  /** With what distinguishes the file from a later one of the same name. */
  readonly remove: readonly { readonly name: string; readonly stamp: string }[];
};

/** Changes with any name or text, and with any file that cannot be read. */
export function filesDigestOf({ files, problems }: PolicyFilesRead): Digest {
  return digestValue({
    files: files.map(({ name, text }) => [name, text]),
    problems: problems.map(({ file, message }) => [file, message]),
  });
}

/** Replaces every policy file; durable once it returns. Only for texts that passed the check, and for one at a time. */
export function replacePolicyFiles(directory: string, files: readonly PolicyFile[]): void {
  try {
    mkdirSync(directory, { mode: 0o700, recursive: true });
    requireReplaceable(directory);
    for (const name of readdirSync(directory)) if (LEFT.test(name)) rmSync(join(directory, name));
    for (const { name, text } of files) writeWhole(directory, asideOf(name), text, 0o600);
    const kept = new Set(files.map(({ name }) => name));
    const remove = policyNames(directory)
      .filter((name) => !kept.has(name))
      .map((name) => ({ name, stamp: stampOf(join(directory, name)) ?? '' }));
    const plan = { write: files.map(({ name }) => name), remove };
    writeWhole(directory, PLAN, JSON.stringify(plan), 0o600);
    carryOut(directory, plan);
  } catch (error) {
    throw storeErrorOf(error, 'replace the policy files');
  }
}

/** Carries out a plan that another process left behind; false when that fails, and then the files must not be read. */
export function finishReplacing(directory: string): boolean {
  const path = join(directory, PLAN);
  // A folder that cannot be listed is reported by the code that reads it.
  if (!isThere(path)) return true;
  try {
    const plan = planOf(readFileSync(path, 'utf8'));
    if (plan !== null) carryOut(directory, plan);
    return plan !== null;
  } catch (error) {
    // Another process was faster.
    return isGone(error);
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Boundary: a plan names files of this folder and nothing else, whatever is written in it. */
function planOf(text: string): Plan | null {
  const raw = JSON.parse(text) as Partial<Plan> | null;
  const [write, remove] = [raw?.write, raw?.remove];
  if (!Array.isArray(write) || !Array.isArray(remove)) return null;
  const isRemoval = (each: { name?: unknown; stamp?: unknown } | null) =>
    typeof each?.name === 'string' && !/[/\0]/.test(each.name) && typeof each.stamp === 'string';
  const isWhole =
    write.every((name) => typeof name === 'string' && isPolicyFileName(name)) && remove.every(isRemoval);
  return isWhole ? { write, remove } : null;
}

/** Every step may have been done already, by the process that began or by a third one at the same moment. */
function carryOut(directory: string, { write, remove }: Plan): void {
  for (const name of write) {
    try {
      renameSync(join(directory, asideOf(name)), join(directory, name));
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
  for (const { name, stamp } of remove) {
    const path = join(directory, name);
    if (stampOf(path) === stamp) rmSync(path, { force: true });
  }
  flushFolder(directory);
  rmSync(join(directory, PLAN), { force: true });
  flushFolder(directory);
}

/** A folder among the files could be neither replaced nor removed, and the plan would never end. */
function requireReplaceable(directory: string): void {
  const odd = policyNames(directory).find((name) => lstatSync(join(directory, name)).isDirectory());
  if (odd === undefined) return;
  const message = `Cannot replace the policies: "${odd}" is a folder, expected files alone`;
  throw new CodedError('policy/invalid', message);
}

function asideOf(name: string): string {
  return `.${name}.next`;
}

function stampOf(path: string): string | null {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.ino}:${stats.mtimeNs}`;
}

function isGone(error: unknown): boolean {
  return (error as { code?: string }).code === 'ENOENT';
}
