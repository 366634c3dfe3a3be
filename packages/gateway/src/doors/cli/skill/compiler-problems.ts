import type { SourceProblem } from '../printer.ts';

/*
 * The errors that a compiler printed, with their places, for programs; people read what it printed. The text is
 * untrusted: a line that is not understood is left out, and nothing is decided by what it says.
 */

const MOST_PROBLEMS = 50;
const MOST_CHARS = 500;

/** `src/skill.c:3:5: error: …`, as clang, tinygo and most others write. */
const PLAIN =
  /^(?<file>[^\s:]{1,200}):(?<line>\d{1,7}):(?<column>\d{1,7}): (?:fatal )?(?:error: )?(?<message>.+)$/;
/** `ERROR TS2322: …`, and some lines later `└─ in src/skill.ts(3,5)`. */
const ASC_MESSAGE = /^\s*ERROR(?: \w+)?: (?<message>.+)$/;
const ASC_PLACE = /^\s*└─ in (?<file>.{1,200})\((?<line>\d{1,7}),(?<column>\d{1,7})\)\s*$/;
/** `error[E0425]: …`, and on the next line `  --> src/skill.rs:3:5`. */
const RUST_MESSAGE = /^error(?:\[\w+\])?: (?<message>.+)$/;
const RUST_PLACE = /^\s*--> (?<file>[^:]{1,200}):(?<line>\d{1,7}):(?<column>\d{1,7})$/;

export function compilerProblems(output: string): readonly SourceProblem[] {
  const problems: SourceProblem[] = [];
  let message: string | null = null;
  for (const line of output.split(/\r?\n/)) {
    if (problems.length === MOST_PROBLEMS) break;
    message = (ASC_MESSAGE.exec(line) ?? RUST_MESSAGE.exec(line))?.groups?.message ?? message;
    const later = ASC_PLACE.exec(line) ?? RUST_PLACE.exec(line);
    const plain = /: warning: |: note: /.test(line) ? null : PLAIN.exec(line);
    const found = later !== null && message !== null ? { ...later.groups, message } : plain?.groups;
    if (found === undefined) continue;
    problems.push(problemOf(found));
    message = null;
  }
  return problems;
}

function problemOf({
  file = '',
  line,
  column,
  message = '',
}: Partial<Record<string, string>>): SourceProblem {
  return {
    file,
    line: Number(line),
    column: Number(column),
    message: message.slice(0, MOST_CHARS),
    hint: null,
  };
}

/** The same text with the places of asc in the form that editors open. */
export function withPlaces(output: string): string {
  return output.replace(/└─ in (.{1,200}?)\((\d{1,7}),(\d{1,7})\)/g, '└─ $1:$2:$3');
}
