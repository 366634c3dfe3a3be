import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { PACKAGE_LIMITS } from '../../../skills/limits.ts';
import type { Manifest } from '../../../skills/manifest/manifest.ts';
import { requireManifest } from '../../../skills/manifest/parse-manifest.ts';
import { pathProblem } from '../../../skills/package/paths.ts';
import {
  CASES_FOLDER,
  type Entries,
  FIXTURES_FILE,
  PACKAGE_FILES,
} from '../../../skills/package/skill-package.ts';
import { wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';

/** The folder of the first argument, or the current directory; all links resolved. */
export function folderOf({ args, edge }: Invocation): string {
  const [given = '.'] = args;
  const path = resolve(edge.cwd, given);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return realpathSync.native(path);
  const is = stats === undefined ? 'no such folder' : 'it is a file';
  throw wrongUsage(`Cannot use "${given}": ${is}, expected the folder of a skill`);
}

/** The bytes of skill.toml, which every skill folder has. */
export function manifestBytes(folder: string): Uint8Array {
  const bytes = readFolderFile(folder, PACKAGE_FILES.manifest);
  if (bytes !== null) return bytes;
  throw new CodedError(
    'skill/invalid-manifest',
    `Cannot read the skill in "${folder}": it has no ${PACKAGE_FILES.manifest}`,
    { remedy: 'Name the folder of a skill, or create one with `palisade skill new DIR`.' },
  );
}

/** The manifest of a folder; throws with the first problem and its line. */
export function manifestOf(folder: string): Manifest {
  return requireManifest(manifestBytes(folder), (path) => readFolderFile(folder, path));
}

/* Files in the folder of a skill, which may be untrusted: no link is followed, and every read is bounded. */

/** The bytes of a regular file below a folder; null where nothing has that name. Other kinds are refused. */
export function readFolderFile(folder: string, path: string): Uint8Array | null {
  // Boundary: a manifest names files of its own folder, so a path that leads out of it names no file.
  if (pathProblem(path) !== null) return null;
  const kind = kindAt(folder, path);
  if (kind === null) return null;
  if (kind !== 'a file') throw unfit(path, `it is ${kind}, expected a file`);
  return readRegular(join(folder, path), path);
}

/** The bytes of a regular file of at most the size of an entry; nothing on the last part of its path is followed. */
export function readRegular(path: string, name: string): Uint8Array {
  const fd = openRegular(path, name);
  try {
    if (!isAt(fd, path)) throw unfit(name, EXCHANGED);
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw unfit(name, 'it is not a regular file');
    const most = PACKAGE_LIMITS.entryBytes;
    if (stats.size > most) throw unfit(name, `it has ${stats.size} bytes, expected at most ${most}`);
    return readUpTo(fd, stats.size);
  } finally {
    closeSync(fd);
  }
}

/** Boundary: a folder on the way that was exchanged for a link leads elsewhere, which what was opened reveals. */
function isAt(fd: number, path: string): boolean {
  return process.platform !== 'linux' || readlinkSync(`/proc/self/fd/${fd}`) === path;
}

/** Writes a built file below a folder, whole or not at all; its folders are made. No link is followed. */
export function writeFolderFile(folder: string, path: string, bytes: Uint8Array): void {
  const refuse = (is: string) => new CodedError('skill/build-failed', `Cannot write "${path}": ${is}`);
  const parts = path.split('/').slice(0, -1);
  for (const [at] of parts.entries()) {
    const above = parts.slice(0, at + 1).join('/');
    const kind = kindAt(folder, above);
    if (kind === null) mkdirSync(join(folder, above));
    else if (kind !== 'a folder') throw refuse(`"${dirname(path)}" is not a folder`);
  }
  const kind = kindAt(folder, path);
  if (kind !== null && kind !== 'a file') throw refuse('it is not a regular file');
  const target = join(folder, path);
  const fd = openSync(dirname(target), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    if (!isAt(fd, dirname(target))) throw refuse(EXCHANGED);
    const at = process.platform === 'linux' ? `/proc/self/fd/${fd}` : dirname(target);
    const fresh = join(at, `${UNFINISHED}${process.pid}`);
    writeFileSync(fresh, bytes, { flag: 'wx', mode: 0o644 });
    renameSync(fresh, join(at, basename(target)));
  } finally {
    closeSync(fd);
  }
}

const UNFINISHED = '.palisade-new-';
const EXCHANGED = 'a folder on its way was exchanged while it was opened';

function openRegular(path: string, name: string): number {
  try {
    // Boundary: a link or a pipe that has taken its place is neither followed nor waited for.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw unfit(name, `it fails with ${(error as { code?: string }).code}, expected a readable file`);
  }
}

type Kind = 'a file' | 'a folder' | 'a link' | 'something else';

/** The kind of file at a path; a link anywhere on the way counts as a link. */
function kindAt(folder: string, path: string): Kind | null {
  const parts = path.split('/');
  let kind: Kind = 'a folder';
  for (const [at] of parts.entries()) {
    if (kind !== 'a folder') return null;
    const stats = lstatSync(join(folder, ...parts.slice(0, at + 1)), { throwIfNoEntry: false });
    if (stats === undefined) return null;
    if (stats.isSymbolicLink()) return 'a link';
    kind = stats.isFile() ? 'a file' : stats.isDirectory() ? 'a folder' : 'something else';
  }
  return kind;
}

function readUpTo(fd: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let length = 0;
  for (let count = 1; count > 0 && length < size; length += count) {
    count = readSync(fd, bytes, length, size - length, null);
  }
  return bytes.subarray(0, length);
}

function unfit(path: string, what: string): CodedError {
  return new CodedError('skill/invalid-package', `Cannot use "${path}": ${what}`, {
    remedy: 'Change the file or remove it from the folder.',
  });
}

/*
 * Which files of a folder become a package: those that the manifest names, and those at a few paths that every skill
 * has. Other files (dot files, installed packages, earlier packages, keys) are left out.
 */

/** Folders that are packed whole, except for what is never packed. */
const WHOLE_FOLDERS = ['schemas', 'src'];
const BESIDE = /^(?:README\.md|LICENSE[A-Za-z0-9._-]*|package(?:-lock)?\.json)$/;
const NEVER = /^\.|^node_modules$/;
/** The body of a private key in PEM, whatever the file is called. */
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{32}/;

/** The files of a skill by their paths, in the order of their paths; throws for what no package may have. */
export function collectFiles(folder: string, manifest: Manifest): Entries {
  const { packageBytes } = PACKAGE_LIMITS;
  const entries = new Map<string, Uint8Array>();
  let sum = 0;
  for (const path of packedPaths(folder, manifest)) {
    const bytes = readEntry(folder, path, manifest);
    sum += bytes.length;
    if (sum > packageBytes)
      throw unfit(path, `with it the files have ${sum} bytes, expected at most ${packageBytes}`);
    entries.set(path, bytes);
  }
  return entries;
}

/** The paths of all files that a package of this folder has, whether they exist or not. */
export function packedPaths(folder: string, { tools, build }: Manifest): readonly string[] {
  const beside = namesIn(folder, '').filter((name) => BESIDE.test(name));
  const cases = namesIn(folder, CASES_FOLDER).filter((name) => name.endsWith('.json'));
  const paths = new Set([
    PACKAGE_FILES.manifest,
    PACKAGE_FILES.prose,
    ...beside,
    ...tools.map(({ module }) => module),
    ...(build?.modules.map(({ source }) => source) ?? []),
    ...cases.map((name) => `${CASES_FOLDER}${name}`),
    ...(namesIn(folder, dirname(FIXTURES_FILE)).includes(basename(FIXTURES_FILE)) ? [FIXTURES_FILE] : []),
    ...WHOLE_FOLDERS.flatMap((name) => allBelow(folder, name)),
  ]);
  if (paths.size > PACKAGE_LIMITS.entries) throw tooMany();
  return [...paths].sort();
}

/** The bytes of one of them; throws where it is missing or must not be packed. */
export function readEntry(folder: string, path: string, { build }: Manifest): Uint8Array {
  const problem = pathProblem(path);
  if (problem !== null) throw unfit(path, problem);
  const bytes = readFolderFile(folder, path);
  if (bytes === null) {
    const isBuilt = build?.modules.some(({ module }) => module === path) ?? false;
    throw new CodedError('skill/invalid-package', `Cannot find "${path}": no such file`, {
      remedy: isBuilt
        ? 'Build it first with `palisade skill build`.'
        : 'Add the file, or remove its name from skill.toml.',
    });
  }
  // Boundary: a package is given to others, and a key inside would no longer be secret.
  if (PRIVATE_KEY.test(Buffer.from(bytes).toString('latin1')))
    throw unfit(path, 'it contains a private key, which a package must not have');
  return bytes;
}

function allBelow(folder: string, start: string): readonly string[] {
  const found: string[] = [];
  const visit = (path: string, depth: number): void => {
    if (found.length > PACKAGE_LIMITS.entries || depth > PACKAGE_LIMITS.pathDepth) throw tooMany();
    for (const entry of entriesIn(folder, path)) {
      if (NEVER.test(entry.name)) continue;
      const child = `${path}/${entry.name}`;
      if (entry.isDirectory()) visit(child, depth + 1);
      // A link or a device is listed too: reading it reports what is wrong with it.
      else found.push(child);
    }
  };
  visit(start, 1);
  return found;
}

function namesIn(folder: string, path: string): readonly string[] {
  return entriesIn(folder, path)
    .filter((entry) => !entry.isDirectory() && !NEVER.test(entry.name))
    .map(({ name }) => name);
}

function entriesIn(folder: string, path: string) {
  try {
    return readdirSync(join(folder, path), { withFileTypes: true });
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return [];
    throw unfit(path, `it fails with ${(error as { code?: string }).code}, expected a readable folder`);
  }
}

function tooMany(): CodedError {
  const { entries, pathDepth } = PACKAGE_LIMITS;
  return unfit('the folder', `it has too many files, expected at most ${entries}, ${pathDepth} folders deep`);
}
