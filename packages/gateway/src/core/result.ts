/*
 * The common form of check results. A check returns a `Result`: the value, or a `Problem` whose parts are data, so that
 * no module has to parse another's sentence. Problems are displayed with `sentenceOf`.
 */

/** A position in a text: both counted from 1. */
export type SourcePosition = { readonly line: number; readonly column: number };

/** The keys and indexes that lead to a value. */
export type ValuePath = readonly (string | number)[];

export type Problem = {
  /** The subject, as it follows `Cannot use`: `host "a..b"`. */
  readonly subject: string;
  /** What is wrong with it: `it has an empty label`. */
  readonly is: string;
  /** What it should be: `letters, digits and hyphens between the dots`. */
  readonly expected: string;
  /** What was probably meant, or what to write. */
  readonly hint?: string;
  /** Where in the value, and where in the text that the value was read from. */
  readonly path?: ValuePath;
  readonly position?: SourcePosition;
};

export type Result<T, P = Problem> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: P };

export function accept<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function reject<P>(problem: P): { readonly ok: false; readonly problem: P } {
  return { ok: false, problem };
}

/** The rejection of one thing by what is wrong with it. */
export function unfit(subject: string, is: string, expected: string) {
  return reject({ subject, is, expected });
}

/** The problem as one sentence. */
export function sentenceOf({ subject, is, expected }: Problem): string {
  return `Cannot use ${subject}: ${is}, expected ${expected}`;
}

/** The value, or the fallback where it cannot be had: for looks at what may be absent, gone or unreadable. */
export function orElse<Value, Fallback>(look: () => Value, fallback: Fallback): Value | Fallback {
  try {
    return look();
  } catch {
    return fallback;
  }
}
