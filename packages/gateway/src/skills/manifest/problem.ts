import { describe } from '../../config/check-value.ts';
import { formatPath, type Path } from '../../config/problem.ts';
import { placeIn, type Spot } from '../../config/toml-tree.ts';
import { inert, quote } from '../../core/hostile-text.ts';

export type ManifestProblem = {
  /** Counted from 1, as is the column. */
  readonly line: number;
  readonly column: number;
  /** The dotted key; empty for the file as a whole. */
  readonly path: string;
  /** "Cannot use …: what is, expected what should be". */
  readonly what: string;
  /** What was probably meant, or what to write; null: the problem says it all. */
  readonly hint: string | null;
};

/** What a value is and what it should be. */
export type Misfit = { readonly is: string; readonly expected: string; readonly hint?: string | null };

/** A problem whose place is not looked up yet, and whose hint is not thought of yet. */
export type Found = {
  /** What is marked in the file: the value there, or the key. */
  readonly path: Path;
  readonly at: 'key' | 'value';
  /** The key that the problem is about, where that is not the marked one. */
  readonly about?: Path;
  readonly what: string;
  readonly hint: () => string | null;
};

/** What a check needs beside the value: where problems go, and the files of the package. */
export type Bench = { readonly found: Found[]; readonly read: (path: string) => Uint8Array | null };

/** More than that at once helps nobody, and a hostile file could make thousands. */
export const MAX_PROBLEMS = 50;

/** A value that does not fit its key. */
export function misfitAt(path: Path, { is, expected, hint = null }: Misfit): Found {
  const what = `Cannot use ${spell(path)}: ${is}, expected ${expected}`;
  return { path, at: 'value', what, hint: () => hint };
}

/** Says what stands in the file in the place of what was expected. */
export function say(raw: unknown): string {
  return inert(describe(raw));
}

/** A sentence of another room about one text, as the two parts that a message here is made of. */
export function misfitOf(sentence: string, text: string): Misfit {
  const [, subject, is = sentence, expected = 'something else'] =
    /^(?:Cannot use (\w+ "(?:[^"\\]|\\.)*"): )?(.*), expected (.*)$/s.exec(sentence) ?? [];
  return { is: inert(`${is} (${subject ?? quote(text)})`), expected: inert(expected) };
}

function spell(path: Path): string {
  return path.length === 0 ? 'the manifest' : inert(formatPath(path));
}

/** The first of the problems in the order of the file, each with its place. */
export function placeAll(found: readonly Found[], root: Spot): readonly ManifestProblem[] {
  return found
    .map((each) => ({ ...each, place: nearestPlace(root, each) }))
    .sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column)
    .slice(0, MAX_PROBLEMS)
    .map(({ place, path, about = path, what, hint }) => ({
      ...place,
      path: inert(formatPath(about)),
      what,
      hint: hint(),
    }));
}

/** What is not in the file is missed where its table begins. */
function nearestPlace(root: Spot, { path, at }: Found): { readonly line: number; readonly column: number } {
  for (let parts = path.length; parts > 0; parts--) {
    const place = placeIn(root, path.slice(0, parts), at);
    if (place !== undefined) return place;
  }
  return { line: 1, column: 1 };
}
