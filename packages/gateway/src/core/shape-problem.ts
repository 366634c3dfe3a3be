import { quote } from './hostile-text.ts';
import { type Problem, type SourcePosition, sentenceOf, type ValuePath } from './result.ts';

/* The findings of the shape checker, and their format: `file:line:column: Cannot use …: …, expected … (hint)`. */

export type Misfit = { readonly is: string; readonly expected: string; readonly hint?: string | null };

/** A problem whose position and hint have not been determined yet. */
export type ShapeProblem = Pick<Problem, 'subject' | 'is' | 'expected'> & {
  readonly path: ValuePath;
  /** Which part of the text is wrong: the value, or its key. */
  readonly at: 'key' | 'value';
  readonly hint: () => string | null;
};

export function misfitAt(path: ValuePath, { is, expected, hint = null }: Misfit): ShapeProblem {
  return { subject: spellPath(path), is, expected, path, at: 'value', hint: () => hint };
}

export function formatPath(path: ValuePath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += `${text === '' ? '' : '.'}${/^[A-Za-z0-9_-]{1,64}$/.test(part) ? part : quote(part)}`;
  }
  return text;
}

function spellPath(path: ValuePath): string {
  return path.length === 0 ? 'the file' : formatPath(path);
}

export function describeValue(raw: unknown): string {
  if (typeof raw === 'string') return `it is ${quote(raw)}`;
  if (typeof raw === 'bigint') return `it is ${quote(String(raw)).slice(1, -1)}`;
  if (typeof raw === 'number') return `it is the number ${raw}`;
  if (raw instanceof Date) return 'it is a date';
  if (Array.isArray(raw)) return 'it is a list';
  return typeof raw === 'object' && raw !== null ? 'it is a table' : `it is ${raw}`;
}

export function didYouMean(meant: string | null | undefined): string | null {
  return meant === null || meant === undefined ? null : `did you mean ${quote(meant)}?`;
}

/** Finds the position of a key or value; undefined where the text does not contain it. */
export type Positions = (path: ValuePath, at: 'key' | 'value') => SourcePosition | undefined;

export type LocatedProblem = Problem & { readonly path: ValuePath; readonly position: SourcePosition };

/** The problems in the order of the text, at most this many, each with its position and hint. */
export function locate(
  found: readonly ShapeProblem[],
  positions: Positions,
  most: number = found.length,
): readonly LocatedProblem[] {
  return found
    .map((problem) => ({ problem, position: nearestPosition(problem, positions) }))
    .sort((a, b) => a.position.line - b.position.line || a.position.column - b.position.column)
    .slice(0, most)
    .map(({ problem: { subject, is, expected, path, hint: hintOf }, position }) => {
      const hint = hintOf();
      return { subject, is, expected, path, position, ...(hint === null ? {} : { hint }) };
    });
}

/** What is missing from the text is reported at the start of its table. */
function nearestPosition({ path, at }: ShapeProblem, positions: Positions): SourcePosition {
  for (let parts = path.length; parts > 0; parts--) {
    const position = positions(path.slice(0, parts), at);
    if (position !== undefined) return position;
  }
  return { line: 1, column: 1 };
}

/** One problem on one line, as compilers write theirs. */
export function formatProblem(problem: Problem, file: string): string {
  const { position, hint } = problem;
  const where = position === undefined ? file : `${file}:${position.line}:${position.column}`;
  return `${where}: ${sentenceOf(problem)}${hint === undefined ? '' : ` (${hint})`}`;
}
