/*
 * What an installer left: the version, what the archive of a package was verified by, and its programs. All of it was
 * written by the registry or the package, so every text is bounded and every path is checked. The tree has no links that
 * lead out of it any more.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { CodedError } from '../core/coded-error.ts';
import { quote, safeLine } from '../core/hostile-text.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { parseStrict } from '../core/strict-json.ts';
import type { PackagePin } from './pins.ts';
import type { RegistryKind } from './runners.table.ts';

export type Installed = Pick<PackagePin, 'version' | 'integrity' | 'programs' | 'main'>;

type Left = {
  readonly registry: RegistryKind;
  readonly packages: readonly string[];
  /** The report of pip. */
  readonly report: string;
};

const JSON_LIMITS = { maxBytes: 64 * 2 ** 20, maxDepth: 64 };
const TEXT_BYTES = 2 ** 20;
const WORD_CHARS = 256;
const PROGRAM = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

/** What was installed for these packages; for PyPI, starters of the programs are added to the tree. */
export function readInstalled(tree: string, left: Left): Installed {
  return left.registry === 'npm' ? readNpm(tree, left) : readPypi(tree, left);
}

/** What an installer of npm would install, by the lock file that it made. */
export type ResolvedPackage = {
  readonly version: string;
  readonly packages: number;
  /** Packages with scripts that run when they are installed; here they never do. */
  readonly scripted: readonly string[];
};

/** What was resolved for these packages in a directory with a lock file. */
export function readResolved(folder: string, packages: readonly string[]): ResolvedPackage {
  const all = object(object(readJson(join(folder, 'package-lock.json'))).packages);
  const paths = Object.keys(all).filter((path) => path !== '');
  return {
    version: word(object(all[`node_modules/${npmName(packages[0] ?? '')}`]).version) ?? 'unknown',
    packages: paths.length,
    scripted: scriptedIn(all),
  };
}

/** The packages of a tree whose install scripts did not run, as npm lists them. */
export function scriptedPackages(tree: string): readonly string[] {
  const file = join(tree, LOCK);
  return existsSync(file) ? scriptedIn(object(object(readJson(file)).packages)) : [];
}

function scriptedIn(packages: JsonObject): readonly string[] {
  const scripted = Object.entries(packages).filter(([, entry]) => object(entry).hasInstallScript === true);
  return [...new Set(scripted.map(([path]) => safeLine(path.replace(/^.*node_modules\//, ''), WORD_CHARS)))];
}

/** Where npm lists what it installed. */
const LOCK = 'node_modules/.package-lock.json';

function npmName(spec: string): string {
  return spec.replace(/(?<=.)@.*$/, '');
}

function readNpm(tree: string, { packages }: Left): Installed {
  const names = packages.map(npmName);
  const [name = ''] = names;
  const lock = object(readJson(join(tree, LOCK)));
  const locked = object(object(lock.packages)[`node_modules/${name}`]);
  const programs = names.flatMap((each) => npmPrograms(tree, each));
  return {
    version: word(locked.version) ?? 'unknown',
    integrity: word(locked.integrity),
    programs: Object.fromEntries(programs),
    main: mainOf(npmPrograms(tree, name), name.replace(/^.*\//, '')),
  };
}

type Programs = readonly (readonly [name: string, path: string])[];

function npmPrograms(tree: string, name: string): Programs {
  const folder = posix.join('node_modules', name);
  const { bin } = object(readJson(join(tree, folder, 'package.json')));
  const named = typeof bin === 'string' ? { [name.replace(/^.*\//, '')]: bin } : object(bin);
  return Object.entries(named).flatMap(([program, path]) => {
    // Boundary: a program is a file of its own package, under a plain name.
    const file = typeof path === 'string' ? posix.join(folder, path) : '';
    if (!PROGRAM.test(program) || !file.startsWith(`${folder}/`)) return [];
    return lstatSync(join(tree, file), { throwIfNoEntry: false })?.isFile() === true ? [[program, file]] : [];
  });
}

/** The only program, or the one that has the name of the package. */
function mainOf(programs: Programs, name: string): string | null {
  const paths = new Set(programs.map(([, path]) => path));
  const own = programs.find(([program]) => program === name) ?? (paths.size === 1 ? programs[0] : undefined);
  return own?.[0] ?? null;
}

/** The starters of Python programs, in the tree. */
const STARTERS = 'palisade-starters';
const ENTRY = /^([A-Za-z0-9_][A-Za-z0-9._-]*)\s*=\s*([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)\s*(?:\[.*\])?$/;

function readPypi(tree: string, { packages, report }: Left): Installed {
  const names = packages.map((spec) => normalized(spec.replace(/[^A-Za-z0-9._-].*$/, '')));
  const [name = ''] = names;
  mkdirSync(join(tree, STARTERS));
  const programs = names.flatMap((each) => startersOf(tree, each));
  const { install } = object(readJson(report));
  const items = (Array.isArray(install) ? install : []).map(object);
  const item = items.find(({ metadata }) => normalized(word(object(metadata).name) ?? '') === name);
  const archive = object(object(item?.download_info).archive_info);
  const sha256 = word(object(archive.hashes).sha256);
  return {
    version: word(object(item?.metadata).version) ?? 'unknown',
    integrity: sha256 === null ? null : `sha256:${sha256}`,
    programs: Object.fromEntries(programs),
    main: mainOf(programs, name),
  };
}

function startersOf(tree: string, name: string): Programs {
  const info = readdirSync(tree).find(
    (each) => each.endsWith('.dist-info') && normalized(each.replace(/-[^-]*\.dist-info$/, '')) === name,
  );
  const file = join(tree, info ?? '', 'entry_points.txt');
  if (info === undefined || !existsSync(file)) return [];
  const [, section = ''] = /^\[console_scripts\]\n([^[]*)/m.exec(readText(file, TEXT_BYTES)) ?? [];
  return section.split('\n').flatMap((line) => {
    const [, program, module, attribute] = ENTRY.exec(line.trim()) ?? [];
    if (program === undefined || module === undefined || attribute === undefined) return [];
    const path = `${STARTERS}/${program}.py`;
    writeFileSync(join(tree, path), starterOf(program, module, attribute));
    return [[program, path] as const];
  });
}

/** Python in isolated mode searches neither the directory of the script nor variables, so the tree is named here. */
function starterOf(program: string, module: string, attribute: string): string {
  return [
    'import importlib, os, sys',
    'sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))',
    `sys.argv[0] = ${JSON.stringify(program)}`,
    `main = importlib.import_module(${JSON.stringify(module)})`,
    `for name in ${JSON.stringify(attribute.split('.'))}:`,
    '    main = getattr(main, name)',
    "if __name__ == '__main__':",
    '    sys.exit(main())',
    '',
  ].join('\n');
}

/** As the registry compares names. */
function normalized(name: string): string {
  return name.replaceAll(/[-_.]+/g, '-').toLowerCase();
}

function readText(path: string, maxBytes: number): string {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  // Boundary: the package chose what lies here.
  if (stats?.isFile() === true && stats.size <= maxBytes) return readFileSync(path, 'utf8');
  throw new CodedError(
    'package/refused',
    `Cannot read ${quote(path)}: expected a file of at most ${maxBytes} bytes`,
  );
}

function readJson(path: string): Json {
  const read = parseStrict(readText(path, JSON_LIMITS.maxBytes).replace(/^\ufeff/, ''), JSON_LIMITS);
  if (read.ok) return read.value;
  throw new CodedError('package/refused', `Cannot read ${quote(path)}: ${read.message}`);
}

function object(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function word(value: Json | undefined): string | null {
  return typeof value === 'string' ? safeLine(value, WORD_CHARS) : null;
}
