import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { isWithin } from '../../../core/paths.ts';
import { orElse } from '../../../core/result.ts';
import { searchFor } from '../../../runner/executable.ts';
import { isInReachOfAll } from '../../../tiers/process/machine.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { COMPILERS, type Compiler, type Language } from './compilers.table.ts';

/** An installed compiler: what is started, and what it must be able to read. */
export type FoundCompiler = {
  readonly compiler: Compiler;
  /** A name for the search path, or an absolute path. */
  readonly command: string;
  /** The arguments before its own. */
  readonly lead: readonly string[];
  /** The folder of @palisade/guest, and the folder of packages that has it. */
  readonly guest: string;
  readonly packages: string;
  /** Outside the system directories and the folder of the skill; all links resolved. */
  readonly readOnly: readonly string[];
};

type Where = { readonly folder: string; readonly searchPath: readonly string[] };

const PACKAGES = 'node_modules';
const GUEST = '@palisade/guest';

/** Finds the compiler of a language and the guest library: in the skill, in the folder of --tools, then next to palisade. */
export function findCompiler(invocation: Invocation, language: Language, where: Where): FoundCompiler {
  const compiler = COMPILERS[language];
  const find = finderIn(where.folder, [...toolFolders(invocation), ...invocation.edge.packageFolders]);
  const started = startOf(compiler, find, where);
  const library = find(`${GUEST}/package.json`);
  if (library === null && (compiler.reads.length > 0 || compiler.hasWorld)) throw notFound(compiler, GUEST);
  const places =
    library === null
      ? { guest: '', packages: '' }
      : { guest: dirname(library.file), packages: library.packages };
  const readOnly = [...compiler.reads.map((each) => places[each]), ...started.readOnly];
  return { compiler, ...started, ...places, readOnly };
}

/** The text of a file of the library, which a new skill has a copy of. */
export function readGuestFile({ edge }: Invocation, path: string): string {
  const found = edge.packageFolders
    .map((place) => resolveIn(place, `${GUEST}/${path}`))
    .find((each) => each !== null);
  if (found !== undefined && found !== null) return readFileSync(found.file, 'utf8');
  throw new CodedError(
    'skill/build-failed',
    `Cannot create the skill: ${GUEST} is not installed, expected its ${path}`,
    {
      remedy: `Run \`npm install ${GUEST}\` next to palisade.`,
    },
  );
}

/** A file of a package, and the folder of packages that has it; all links resolved. */
type FoundFile = { readonly file: string; readonly packages: string };
type Find = (file: string) => FoundFile | null;

function finderIn(folder: string, others: readonly string[]): Find {
  return (file) => {
    const own = resolveIn(join(folder, PACKAGES), file);
    // Boundary: a skill may be untrusted, and a link in it would expose its target to the compiler. Links are resolved
    // once, so that what is judged here is what is shown.
    if (own !== null && isWithin(own.file, folder) && isWithin(own.packages, folder)) return own;
    for (const place of others) {
      const found = resolveIn(place, file);
      if (found !== null) return found;
    }
    return null;
  };
}

function resolveIn(place: string, file: string): FoundFile | null {
  const resolve = () => ({
    file: realpathSync.native(join(place, file)),
    packages: realpathSync.native(place),
  });
  return orElse(resolve, null);
}

function startOf(compiler: Compiler, find: Find, where: Where) {
  const { from } = compiler;
  if ('program' in from) {
    const scope = { searchPath: where.searchPath, workspace: where.folder };
    const missing = [from.program, ...from.beside].find((name) => searchFor(name, scope) === null);
    if (missing !== undefined) throw notFound(compiler, missing);
    return { command: from.program, lead: [], readOnly: [] };
  }
  const found = find(`${from.package}/${from.script}`);
  if (found === null) throw notFound(compiler, from.package);
  const node = realpathSync.native(process.execPath);
  // What a script needs is next to its package; of a node outside the system directories, only the program is shown.
  return { command: node, lead: [found.file], readOnly: [found.packages, node] };
}

/** --tools names a folder of packages, or the folder that has one. */
function toolFolders(invocation: Invocation): readonly string[] {
  const given = textOf(invocation, 'tools');
  if (given === undefined) return [];
  const path = resolve(invocation.edge.cwd, given);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return [join(path, PACKAGES), path];
  throw wrongUsage(`Cannot use --tools "${given}": no such folder, expected one with ${PACKAGES}`);
}

/** Names exactly what to install: a program of the system, or packages for the skill. */
function notFound({ name, from, install, note }: Compiler, missing: string): CodedError {
  const isOfSystem = 'program' in from && missing !== GUEST;
  const where = isOfSystem ? 'on the search path' : `in ${PACKAGES} of the skill`;
  // A compiler of the system has no package, so npm installs the library only.
  const command = isOfSystem || 'package' in from ? install : `npm install --save-dev ${GUEST}`;
  const more = isOfSystem && note !== undefined ? [note] : [];
  const elsewhere =
    'in the folder of the skill; in a clone of palisade, `npm ci --prefix packages/guest/tools` installs it for all skills; --tools names another folder';
  return new CodedError(
    'skill/build-failed',
    `Cannot build with ${name}: ${missing} is not installed, expected it ${where}`,
    { remedy: [`Run \`${command}\`${isOfSystem ? '' : ` ${elsewhere}`}.`, ...more].join(' ') },
  );
}

/**
 * A jail shows a compiler what lies where its user can walk to, and not below /tmp, of which it has its own. What lies
 * elsewhere, as in a clone below /root or /tmp, is copied for the time of the build to a place that can be shown.
 */

/** With the process that made it, so that what a killed one left can be told apart. */
const STAGED_IN = `/var/tmp/palisade-build-${process.pid}-`;
const OF_THE_JAIL = ['/tmp', '/home/palisade'];
const [ALL_READ, ALL_EXECUTE] = [0o755, 0o755];
/** Of the library, what compilers read. */
const GUEST_PARTS = ['package.json', 'asconfig.json', 'assembly', 'include', 'wit'];

/** A folder for one build or session that a jail can be shown. */
export function makeShownFolder(): string {
  return mkdtempSync(STAGED_IN);
}

/** The compiler as the jail can be shown it; what had to be copied is gone with `remove`. */
export function showToJail(found: FoundCompiler, folder: string) {
  const outside = found.readOnly.filter((path) => !isWithin(path, folder));
  if (outside.every(canBeShown)) return { found, remove: () => undefined };
  const root = makeShownFolder();
  const remove = () => rmSync(root, { recursive: true, force: true });
  try {
    chmodSync(root, ALL_READ);
    return { found: stage(found, root, folder), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function canBeShown(path: string): boolean {
  return isInReachOfAll(path) && !OF_THE_JAIL.some((place) => isWithin(path, place));
}

function stage(found: FoundCompiler, root: string, folder: string): FoundCompiler {
  const staged = join(root, PACKAGES);
  // What lies in the skill is shown with it.
  const isOwn = isWithin(found.guest, folder);
  const packages = isOwn ? found.packages : staged;
  const guest = isOwn ? found.guest : join(staged, GUEST);
  if (!isOwn) for (const part of GUEST_PARTS) copy(join(found.guest, part), join(guest, part));
  const { from } = found.compiler;
  if ('program' in from) return { ...found, guest, packages, readOnly: [root] };
  const [script = ''] = found.lead;
  const node = canBeShown(found.command) ? found.command : copyProgram(found.command, root);
  if (isWithin(script, folder)) return { ...found, guest, packages, command: node, readOnly: [root, node] };
  const place = script.slice(0, -`/${from.package}/${from.script}`.length);
  for (const name of closureOf(place, from.package)) copy(join(place, name), join(staged, name));
  const lead = [join(staged, from.package, from.script)];
  return { ...found, guest, packages, lead, command: node, readOnly: [root, node] };
}

/** A package and its dependencies, as far as they are next to it. */
function closureOf(place: string, first: string): ReadonlySet<string> {
  const names = new Set([first]);
  for (const name of names) {
    const manifest = JSON.parse(readFileSync(join(place, name, 'package.json'), 'utf8'));
    // Programs for one system are dependencies that need not be there.
    const needed = { ...manifest.dependencies, ...manifest.optionalDependencies };
    for (const each of Object.keys(needed)) if (existsSync(join(place, each))) names.add(each);
  }
  return names;
}

function copy(from: string, to: string): void {
  // Boundary: links are copied as links, so that nothing comes along that lies elsewhere.
  if (existsSync(from)) cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}

function copyProgram(path: string, root: string): string {
  const copied = join(root, 'bin/node');
  mkdirSync(join(root, 'bin'));
  copyFileSync(path, copied);
  chmodSync(copied, ALL_EXECUTE);
  return copied;
}
