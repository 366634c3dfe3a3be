/** Every way this room says no. */
export type RunnerCode =
  | 'runner/invalid-workspace'
  | 'runner/outside-workspace'
  | 'runner/not-found'
  | 'runner/not-allowed'
  | 'runner/environment'
  | 'runner/invalid-limits'
  | 'runner/egress-denied';

/** Thrown by the checks of this room and caught once, in termsOf. */
export class RunnerProblem extends Error {
  override readonly name = 'RunnerProblem';
  readonly code: RunnerCode;
  readonly remedy: string | undefined;

  constructor(code: RunnerCode, message: string, remedy?: string) {
    super(message);
    this.code = code;
    this.remedy = remedy;
  }
}

const SHOWN_CHARS = 120;

/** A text of the caller as a message shows it: on one line, not too long, nothing that a terminal would obey. */
export function quote(text: string): string {
  const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  // JSON leaves the second set of control characters and the marks that turn the direction of writing.
  return JSON.stringify(shown).replace(/[\x7f-\x9f\p{Cf}\p{Surrogate}]/gu, '?');
}
