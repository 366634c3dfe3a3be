import { existsSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CodedError } from '../../../core/coded-error.ts';
import { isWithin } from '../../../core/within.ts';
import { searchFor } from '../../../runner/executable.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { COMPILERS, type Compiler, type Language } from './compilers.table.ts';

/** A compiler that is there: what is started, and what it has to be able to read. */
export type FoundCompiler = {
  readonly compiler: Compiler;
  /** A name for the search path, or an absolute path. */
  readonly command: string;
  /** The words before its own. */
  readonly lead: readonly string[];
  /** The folder of @palisade/guest, and the one that it is found in by its name. */
  readonly guest: string;
  readonly packages: string;
  /** Beside the system and the folder of the skill; all links resolved. */
  readonly readOnly: readonly string[];
};

export type Where = { readonly folder: string; readonly searchPath: readonly string[] };

const PACKAGES = 'node_modules';
const GUEST = '@palisade/guest';

/** Finds the compiler of a language and the library of guests: in the skill, where --tools says, then beside palisade. */
export function findCompiler(invocation: Invocation, language: Language, where: Where): FoundCompiler {
  const compiler = COMPILERS[language];
  const find = finderIn(where.folder, [...toolFolders(invocation), ...invocation.edge.packageFolders]);
  const started = startOf(compiler, find, where);
  const packages = find(`${GUEST}/package.json`);
  if (packages === null) throw notFound(compiler, GUEST);
  const places = {
    guest: realpathSync.native(join(packages, GUEST)),
    packages: realpathSync.native(packages),
  };
  const read = [...compiler.reads.map((each) => places[each]), ...started.readOnly];
  return { compiler, ...started, ...places, readOnly: read.map((path) => realpathSync.native(path)) };
}

/** Gives the folder of packages that has a file; null: none has. */
type Find = (file: string) => string | null;

function finderIn(folder: string, others: readonly string[]): Find {
  const own = join(folder, PACKAGES);
  return (file) => {
    // Boundary: a skill may be a stranger's, and a link in it would show the compiler whatever it leads to.
    const isOwn = existsSync(join(own, file)) && isWithin(realpathSync.native(join(own, file)), folder);
    return isOwn ? own : (others.find((place) => existsSync(join(place, file))) ?? null);
  };
}

type Started = Pick<FoundCompiler, 'command' | 'lead' | 'readOnly'>;

function startOf(compiler: Compiler, find: Find, where: Where): Started {
  const { from } = compiler;
  if ('program' in from) {
    const scope = { searchPath: where.searchPath, workspace: where.folder };
    const missing = [from.program, ...from.beside].find((name) => searchFor(name, scope) === null);
    if (missing !== undefined) throw notFound(compiler, missing);
    return { command: from.program, lead: [], readOnly: [] };
  }
  const place = find(`${from.package}/${from.script}`);
  if (place === null) throw notFound(compiler, from.package);
  const node = realpathSync.native(process.execPath);
  const script = realpathSync.native(join(place, from.package, from.script));
  // What a script needs lies beside its package; of node itself, where it is not the system's, only the program is shown.
  return { command: node, lead: [script], readOnly: [place, node] };
}

/** Whoever names a folder means the packages in it, or the one that has them. */
function toolFolders(invocation: Invocation): readonly string[] {
  const given = textOf(invocation, 'tools');
  if (given === undefined) return [];
  const path = resolve(invocation.edge.cwd, given);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return [join(path, PACKAGES), path];
  throw wrongUsage(`Cannot use --tools "${given}": there is no such folder, expected one with ${PACKAGES}`);
}

/** Says exactly what to install: a program of the system, or packages for the skill. */
function notFound({ name, from, install }: Compiler, missing: string): CodedError {
  const isOfSystem = 'program' in from && missing !== GUEST;
  const where = isOfSystem ? 'on the search path' : `in ${PACKAGES} of the skill`;
  // The compiler of the system comes with no package, so for it the library is all that npm installs.
  const command = isOfSystem || 'package' in from ? install : `npm install --save-dev ${GUEST}`;
  const elsewhere =
    'in the folder of the skill; in a clone of palisade `npm ci --prefix packages/guest/tools` does for all skills, and --tools names another folder';
  return new CodedError(
    'skill/build-failed',
    `Cannot build with ${name}: ${missing} is not installed, expected it ${where}`,
    { remedy: `Run \`${command}\`${isOfSystem ? '' : ` ${elsewhere}`}.` },
  );
}
