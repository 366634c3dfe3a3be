/*
 * The files of a fetched package. What an installer left in its jail is hostile: it is listed without following a link,
 * copied file by file, and kept under the digest of all names, kinds, modes and contents. A link that leads out, a device,
 * a setuid bit or too much of anything refuses the whole package.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { type Digest, digestBytes, digestValue } from '../core/digest.ts';
import { quote } from '../core/hostile-text.ts';
import { isWithin } from '../core/paths.ts';

/** More than any server that is in use needs. */
export const TREE_LIMITS = { entries: 100_000, bytes: 2 ** 30, depth: 64 } as const;

type Entry = {
  /** Relative to the root. */
  readonly path: string;
  readonly kind: 'directory' | 'file' | 'program' | 'link';
  /** The digest of a file, the target of a link. */
  readonly content: string;
};

export type TreeFacts = { readonly digest: Digest; readonly files: number; readonly bytes: number };

const SETUID = 0o6000;
const EXECUTABLE = 0o100;
const [READ, READ_AND_RUN, ENTER] = [0o444, 0o555, 0o755];
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Copies a tree to a new directory; refuses one that cannot be kept. */
export function copyTree(from: string, to: string): void {
  mkdirSync(to, { mode: ENTER });
  walk(from, (entry, bytes) => {
    const path = join(to, entry.path);
    if (entry.kind === 'directory') mkdirSync(path, { mode: ENTER });
    else if (entry.kind === 'link') symlinkSync(entry.content, path);
    else writeFileSync(path, bytes, { flag: 'wx', mode: entry.kind === 'program' ? READ_AND_RUN : READ });
  });
}

/** The digest of a tree as it is now. */
export function examineTree(root: string): TreeFacts {
  return walk(root, () => undefined);
}

const NO_BYTES = new Uint8Array();

function walk(root: string, keep: (entry: Entry, bytes: Uint8Array) => void): TreeFacts {
  const entries: Entry[] = [];
  const total = { files: 0, bytes: 0 };
  const visit = (directory: string, depth: number): void => {
    // Boundary: deep nesting overflows no stack.
    if (depth > TREE_LIMITS.depth) throw refused(directory, `it has more than ${TREE_LIMITS.depth} levels`);
    // By code units, so that the digest is the same in every locale.
    for (const name of readdirSync(join(root, directory)).sort()) {
      const path = directory === '' ? name : `${directory}/${name}`;
      const { entry, bytes } = examineEntry(root, path);
      entries.push(entry);
      total.bytes += bytes.length;
      if (entry.kind === 'file' || entry.kind === 'program') total.files += 1;
      if (entries.length > TREE_LIMITS.entries)
        throw refused(path, `it has more than ${TREE_LIMITS.entries} files`);
      if (total.bytes > TREE_LIMITS.bytes) throw refused(path, `it has more than ${TREE_LIMITS.bytes} bytes`);
      keep(entry, bytes);
      if (entry.kind === 'directory') visit(path, depth + 1);
    }
  };
  visit('', 0);
  const digest = digestValue(entries.map(({ path, kind, content }) => [path, kind, content]));
  return { digest, ...total };
}

function examineEntry(root: string, path: string): { readonly entry: Entry; readonly bytes: Uint8Array } {
  const full = join(root, path);
  const stats = lstatSync(full);
  if (stats.isDirectory()) return { entry: { path, kind: 'directory', content: '' }, bytes: NO_BYTES };
  if (stats.isSymbolicLink()) {
    const target = readlinkSync(full);
    // Boundary: what a link leads to outside of the package is not part of what was fetched.
    if (isAbsolute(target) || !isWithin(resolve(dirname(full), target), root))
      throw refused(path, `it is a link to ${quote(target)}, outside of the package`);
    return { entry: { path, kind: 'link', content: target }, bytes: NO_BYTES };
  }
  if (!stats.isFile()) throw refused(path, 'it is neither a file nor a directory');
  return examineFile(full, path);
}

function examineFile(full: string, path: string): { readonly entry: Entry; readonly bytes: Uint8Array } {
  const fd = openSync(full, FLAGS);
  try {
    const { mode, size } = fstatSync(fd);
    if ((mode & SETUID) !== 0) throw refused(path, 'it has a setuid or setgid bit');
    if (size > TREE_LIMITS.bytes) throw refused(path, `it has more than ${TREE_LIMITS.bytes} bytes`);
    const bytes = readFileSync(fd);
    const kind = (mode & EXECUTABLE) === 0 ? 'file' : 'program';
    return { entry: { path, kind, content: digestBytes(bytes) }, bytes };
  } finally {
    closeSync(fd);
  }
}

function refused(path: string, is: string): CodedError {
  return new CodedError('package/refused', `Cannot keep the package: at ${quote(path)}, ${is}`);
}
