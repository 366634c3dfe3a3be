import { CodedError } from '../../core/coded-error.ts';
import { checkAsks } from '../capabilities/kinds.ts';
import { buildManifest } from './build-manifest.ts';
import { checkNames } from './check-names.ts';
import { checkTable } from './check-table.ts';
import { tableIn } from './checked.ts';
import type { Manifest } from './manifest.ts';
import { type Found, type ManifestProblem, placeAll } from './problem.ts';
import { readToml } from './read-toml.ts';

/*
 * skill.toml → Manifest. The file was written by whoever made the package, and nothing in it is believed: an unknown key, a
 * wrong type, a number out of range or a name that hides something is a problem with its line, never a default. A
 * Manifest has no gaps and says what is asked for; nothing here grants it. This reads no file and remembers nothing; the
 * files that a manifest names are handed in.
 */

export type { ManifestProblem };

export type ManifestResult =
  | { readonly ok: true; readonly manifest: Manifest }
  | { readonly ok: false; readonly problems: readonly ManifestProblem[] };

/** Reads a file of the package by its path; null: there is none. */
type ReadEntry = (path: string) => Uint8Array | null;

/** Reads a manifest; says all that is wrong with it, in the order of the lines, and never throws by what is in it. */
export function parseManifest(source: string | Uint8Array, read: ReadEntry): ManifestResult {
  const toml = readToml(source);
  if (!toml.ok) {
    const { place, what, hint } = toml;
    return { ok: false, problems: [{ ...place, path: '', what, hint }] };
  }
  const found: Found[] = [];
  const file = checkTable('', toml.raw, [], { found, read });
  checkNames(file, found);
  checkAsks(tableIn(file, 'capabilities'), found);
  if (found.length > 0) return { ok: false, problems: placeAll(found, toml.root) };
  return { ok: true, manifest: buildManifest(file) };
}

/** The manifest, or an error that names the first thing that is wrong with it and how many more there are. */
export function requireManifest(source: string | Uint8Array, read: ReadEntry, file = 'skill.toml'): Manifest {
  const result = parseManifest(source, read);
  if (result.ok) return result.manifest;
  const [first, ...more] = result.problems.map((problem) => formatProblem(problem, file));
  const rest = more.length === 0 ? '' : `; and ${more.length} more`;
  throw new CodedError('skill/invalid-manifest', `${first}${rest}`);
}

/** One problem on one line, as compilers write theirs. */
export function formatProblem({ line, column, what, hint }: ManifestProblem, file = 'skill.toml'): string {
  return `${file}:${line}:${column}: ${what}${hint === null ? '' : ` (${hint})`}`;
}
