import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { PACKAGE_LIMITS } from '../../../skills/limits.ts';
import type { Manifest } from '../../../skills/manifest/manifest.ts';
import { pathProblem } from '../../../skills/package/paths.ts';
import { CASES_FOLDER, type Entries, PACKAGE_FILES } from '../../../skills/package/skill-package.ts';
import { readFolderFile, unfit } from './folder-file.ts';

/*
 * Which files of a folder become a package: those that the manifest names, and those in a few places that every skill
 * has. What lies about beside them (dot files, installed packages, packages made before, keys) stays where it is.
 */

/** Folders that go in whole, but for what is never packed. */
const WHOLE_FOLDERS = ['schemas', 'src'];
const BESIDE = /^(?:README\.md|LICENSE[A-Za-z0-9._-]*|package(?:-lock)?\.json)$/;
const NEVER = /^\.|^node_modules$/;
/** The body of a private key in PEM, whatever the file is called. */
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{32}/;

/** The files of a skill by their paths, in the order of their paths; throws for what no package may have. */
export function collectFiles(folder: string, manifest: Manifest): Entries {
  const paths = packedPaths(folder, manifest);
  const entries = new Map<string, Uint8Array>();
  let sum = 0;
  for (const path of paths) {
    const bytes = readEntry(folder, path, manifest);
    sum += bytes.length;
    if (sum > PACKAGE_LIMITS.packageBytes)
      throw unfit(path, `with it there are ${sum} bytes, expected at most ${PACKAGE_LIMITS.packageBytes}`);
    entries.set(path, bytes);
  }
  return entries;
}

/** The paths of all files that a package of this folder has, whether they are there or not. */
export function packedPaths(folder: string, manifest: Manifest): readonly string[] {
  const paths = [...new Set(pathsOf(folder, manifest))].sort();
  if (paths.length > PACKAGE_LIMITS.entries) throw tooMany();
  return paths;
}

function pathsOf(folder: string, { tools, build }: Manifest): readonly string[] {
  const beside = namesIn(folder, '').filter((name) => BESIDE.test(name));
  const cases = namesIn(folder, CASES_FOLDER).filter((name) => name.endsWith('.json'));
  return [
    PACKAGE_FILES.manifest,
    PACKAGE_FILES.prose,
    ...beside,
    ...tools.map(({ module }) => module),
    ...(build?.modules.map(({ source }) => source) ?? []),
    ...cases.map((name) => `${CASES_FOLDER}${name}`),
    ...WHOLE_FOLDERS.flatMap((name) => allBelow(folder, name)),
  ];
}

/** The bytes of one of them; throws where it is missing or must not be packed. */
export function readEntry(folder: string, path: string, { build }: Manifest): Uint8Array {
  const problem = pathProblem(path);
  if (problem !== null) throw unfit(path, problem);
  const bytes = readFolderFile(folder, path);
  if (bytes === null) {
    const isBuilt = build?.modules.some(({ module }) => module === path) ?? false;
    throw new CodedError(
      'skill/invalid-package',
      `Cannot find "${path}": there is no such file, expected one`,
      {
        remedy: isBuilt
          ? 'Build it first, with `palisade skill build`.'
          : 'Put the file there, or take its name out of skill.toml.',
      },
    );
  }
  // Boundary: a package goes to strangers, and a key that went with it is no longer one.
  if (PRIVATE_KEY.test(Buffer.from(bytes).toString('latin1')))
    throw unfit(path, 'it has a private key in it, expected none in a package');
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
      // A link or a device is named, too: reading it says what is wrong with it.
      else found.push(child);
    }
  };
  visit(start, 1);
  return found;
}

/** Names of what is no folder. */
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
    throw unfit(path, `it gives ${(error as { code?: string }).code}, expected a folder that can be read`);
  }
}

function tooMany(): CodedError {
  const { entries, pathDepth } = PACKAGE_LIMITS;
  return unfit(
    'the folder',
    `there are too many files in it, expected at most ${entries}, ${pathDepth} folders deep`,
  );
}
