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
