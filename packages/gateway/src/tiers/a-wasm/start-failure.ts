import { CodedError } from '../../core/coded-error.ts';

const REMEDY = 'Run `palisade doctor`: the row of tier A says why no engine process starts, and what to do.';

/** What a caller is told when no engine could be started for it: always a code of the table, with what to do. */
export function startFailure(error: unknown): CodedError {
  if (error instanceof CodedError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new CodedError('tier/not-started', `Cannot start engine process: ${why}`, {
    remedy: REMEDY,
    cause: error,
  });
}

export function didNotBegin(why: string): CodedError {
  return new CodedError('tier/not-started', `Cannot start engine process: ${why}, expected it to begin`, {
    remedy: REMEDY,
  });
}
