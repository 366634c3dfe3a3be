import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { storeErrorOf } from '../store/fault-of.ts';
import { openItself, readAtMost } from '../store/private-file.ts';
import { POLICY_LIMITS } from './limits.ts';
import { type PolicyFile, type PolicyProblem, shorten } from './policy-set.ts';
import { STARTER_POLICIES } from './starter.table.ts';

/*
 * The only reader of the policies directory. Write access means control of the policies; it guards against a file that
 * is not what it seems (a link, a pipe, a device, half a gigabyte) and a name that only looks like a policy.
 */

const SUFFIX = '.cedar';
export const POLICY_FILE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*\.cedar$/;

export type PolicyFilesRead = {
  readonly files: readonly PolicyFile[];
  readonly problems: readonly PolicyProblem[];
};

/** Reads every policy file in the order of names; what cannot be read is a problem, never left out. */
export function readPolicyFiles(directory: string): PolicyFilesRead {
  const files: PolicyFile[] = [];
  const problems: PolicyProblem[] = [];
  for (const name of listNames(directory, problems)) {
    const read = readPolicyFile(directory, name);
    if (typeof read === 'string') problems.push(fileProblem(name, read));
    else files.push({ name, text: read.text });
  }
  return { files, problems };
}

/** Changes whenever a policy file is added, removed, renamed, replaced or written to. */
export function fingerprint(directory: string): string {
  try {
    const names = policyNames(directory);
    return names
      .slice(0, POLICY_LIMITS.files + 1)
      .map((name) => fingerprintFile(directory, name))
      .join('\n');
  } catch (error) {
    return `unreadable ${codeOf(error)}`;
  }
}

function fingerprintFile(directory: string, name: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs, mode } = lstatSync(join(directory, name), { bigint: true });
    return [name, ino, size, mtimeNs, ctimeNs, mode].join(' ');
  } catch (error) {
    return `${name} ${codeOf(error)}`;
  }
}

function listNames(directory: string, problems: PolicyProblem[]): readonly string[] {
  try {
    const names = policyNames(directory);
    if (names.length <= POLICY_LIMITS.files) return names;
    problems.push(
      fileProblem(
        '.',
        `Cannot read the policies: there are ${names.length} files, expected at most ${POLICY_LIMITS.files}`,
      ),
    );
  } catch (error) {
    problems.push(unreadable(directory, codeOf(error)));
  }
  return [];
}

function unreadable(directory: string, code: string): PolicyProblem {
  if (code !== 'ENOENT') return fileProblem('.', `Cannot read "${directory}": ${code}`);
  const hint = `put the policy files back into "${directory}", or run \`palisade init\` where there never were any`;
  return fileProblem('.', 'Cannot read the policies: the directory is missing', hint);
}

/** Every name that ends like a policy file, whatever it is. */
export function policyNames(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(SUFFIX))
    .sort();
}

export function isPolicyFileName(name: string): boolean {
  return POLICY_FILE_NAME.test(name) && name.length <= POLICY_LIMITS.nameChars;
}

/** The text of one file, or a sentence that says why not. */
function readPolicyFile(directory: string, name: string): { text: string } | string {
  if (!POLICY_FILE_NAME.test(name))
    return 'Cannot use this file name: expected lower-case words joined by "-" and ".cedar"';
  if (name.length > POLICY_LIMITS.nameChars)
    return `Cannot use this file name: expected at most ${POLICY_LIMITS.nameChars} characters`;
  try {
    // Boundary: a link is not followed and a pipe does not block.
    const descriptor = openItself(join(directory, name));
    try {
      return readText(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const code = codeOf(error);
    return code === 'ELOOP'
      ? 'Cannot read the file: it is a link, expected a regular file'
      : `Cannot read the file: ${code}`;
  }
}

function readText(descriptor: number): { text: string } | string {
  if (!fstatSync(descriptor).isFile()) return 'Cannot read the file: expected a regular file';
  const bytes = readAtMost(descriptor, POLICY_LIMITS.fileBytes + 1);
  if (bytes.length > POLICY_LIMITS.fileBytes)
    return `Cannot read the file: expected at most ${POLICY_LIMITS.fileBytes} bytes`;
  return decode(bytes);
}

function decode(bytes: Uint8Array): { text: string } | string {
  // Boundary: Cedar, people and the digest must see the same text, so nothing is replaced or cut off silently.
  if (bytes.includes(0)) return 'Cannot read the file: it has a NUL byte';
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return 'Cannot read the file: it is not valid UTF-8';
  }
}

export function fileProblem(file: string, message: string, hint: string | null = null): PolicyProblem {
  // Boundary: Cedar quotes what it cannot read, even if it is as long as the file.
  const short = hint === null ? null : shorten(hint);
  return { file, line: 1, column: 1, policy: null, message: shorten(message), hint: short };
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}

/**
 * Writes the starter policies if there is no such directory yet; an existing one, even empty, is left as it is. Only
 * for a state directory that never had a set: later a missing directory is an accident, and the starters permit more.
 */
export function seedPolicies(directory: string): boolean {
  if (existsSync(directory)) return false;
  // Written to a temporary folder and renamed, so that no other process ever reads half of it.
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
