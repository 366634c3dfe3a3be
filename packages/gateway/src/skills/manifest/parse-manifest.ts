import { positionIn } from '../../config/toml-tree.ts';
import { CodedError } from '../../core/coded-error.ts';
import { quote } from '../../core/hostile-text.ts';
import { accept, type Result, reject } from '../../core/result.ts';
import { noteRepeated } from '../../core/shape.ts';
import {
  formatProblem,
  type LocatedProblem,
  locate,
  misfitAt,
  type ShapeProblem,
} from '../../core/shape-problem.ts';
import { checkAsks, readAsks } from '../capabilities/kinds.ts';
import { MANIFEST_LIMITS } from '../limits.ts';
import { type Checked, tableIn, tablesIn, textIn } from './checked.ts';
import type { Manifest } from './manifest.ts';
import { fieldsOf, manifestShape } from './manifest-shape.ts';
import { readToml } from './read-toml.ts';
import type { ReadEntry } from './schema-shape.ts';

/*
 * skill.toml → Manifest. The file was written by the author of the package, and nothing in it is trusted: an unknown
 * key, a wrong type, a number out of range or a name that hides something is a problem with its line, never a default.
 * A Manifest is complete and says what is requested; nothing here grants it. This reads no file and keeps no state; the
 * files that a manifest names are passed in.
 */

/** Reads a manifest; reports all problems in the order of the lines, and never throws because of its content. */
export function parseManifest(
  source: string | Uint8Array,
  read: ReadEntry,
): Result<Manifest, readonly LocatedProblem[]> {
  const toml = readToml(source);
  if (!toml.ok) return reject([toml.problem]);
  const { raw, root } = toml.value;
  const found: ShapeProblem[] = [];
  const file = manifestShape(read)(raw, { path: [], found }) ?? {};
  checkNames(file, found);
  checkAsks(tableIn(file, 'capabilities'), found);
  if (found.length === 0) return accept(buildManifest(file));
  return reject(locate(found, (path, at) => positionIn(root, path, at), MANIFEST_LIMITS.shownProblems));
}

/** A file without problems as the table of keys names its parts. */
type NamedFile = Omit<Manifest, 'id' | 'tools' | 'asks' | 'quotas'> & {
  readonly skillId: string;
  readonly entrypoints: Pick<Manifest, 'tools'>;
  readonly capabilities: {
    readonly quotas: Omit<Manifest['quotas'], 'wallMs'> & { readonly wallClockMs: number | null };
  };
};

/** The manifest of a file without problems; the shape has filled in the defaults. */
function buildManifest(file: Checked): Manifest {
  const { skillId: id, entrypoints, capabilities, ...rest } = namedIn('', file) as NamedFile;
  const { wallClockMs: wallMs, ...quotas } = capabilities.quotas;
  const asks = readAsks(tableIn(file, 'capabilities'));
  return { id, ...rest, ...entrypoints, asks, quotas: { wallMs, ...quotas } };
}

/** A table with all of its keys in the spelling of the program; what the file does not set is null. */
function namedIn(tableKey: string, table: Checked): unknown {
  const named = [...fieldsOf(tableKey)].map(([name, { key, type }]) => {
    const property = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    if (type === 'tables') return [property, tablesIn(table, name).map((each) => namedIn(key, each))];
    if (type === 'table' && table[name] !== undefined) return [property, namedIn(key, tableIn(table, name))];
    return [property, table[name] ?? null];
  });
  return Object.fromEntries(named);
}

/** The manifest, or an error that names the first thing that is wrong with it and how many more there are. */
export function requireManifest(source: string | Uint8Array, read: ReadEntry, file = 'skill.toml'): Manifest {
  const result = parseManifest(source, read);
  if (result.ok) return result.value;
  const [first, ...more] = result.problem.map((problem) => formatProblem(problem, file));
  const rest = more.length === 0 ? '' : `; and ${more.length} more`;
  throw new CodedError('skill/invalid-manifest', `${first}${rest}`);
}

/** What names must be to each other: the id that of the publisher, and no tool, channel or module named twice. */
function checkNames(manifest: Checked, found: ShapeProblem[]): void {
  const [id, publisher] = [textIn(manifest, 'skill_id'), textIn(manifest, 'publisher')];
  // Boundary: a publisher names skills below its own name only, so no skill passes for that of another.
  if (id !== null && publisher !== null && !id.startsWith(`${publisher}.`)) {
    const expected = `it to begin with ${quote(`${publisher}.`)}, the publisher`;
    found.push(misfitAt(['skill_id'], { is: `it is ${quote(id)}`, expected }));
  }
  for (const [table, list, name] of NAMED) {
    noteRepeated(tablesIn(tableIn(manifest, table), list), name, { path: [table, list], found });
  }
}

const NAMED = [
  ['entrypoints', 'tools', 'id'],
  ['capabilities', 'channels', 'name'],
  ['build', 'modules', 'module'],
] as const;
