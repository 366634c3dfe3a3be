import { CODES } from '@palisade/sdk';
import { CodedError } from '../../core/coded-error.ts';
import type { Printer } from './printer.ts';

/** Says what is wrong and what to do, in words or as a document with some details, and gives the exit status of the code. */
export function printError(
  print: Printer,
  error: unknown,
  details: Readonly<Record<string, unknown>> = {},
): number {
  const coded = error instanceof CodedError ? error : faultOf(error);
  const { code, message, remedy } = coded;
  const { kind, exitStatus } = CODES[code];
  const status = kind === 'refused' || kind === 'usage' ? 'refused' : 'failed';
  if (print.json) {
    print.document({ status, code, message, remedy, ...details });
  } else {
    print.note(kind === 'fault' ? kind : status, 'red', `  ${code}`);
    print.note(message);
    print.note('→', 'cyan', ` ${remedy}`);
  }
  return exitStatus;
}

function faultOf(error: unknown): CodedError {
  const message = error instanceof Error ? error.message : String(error);
  return new CodedError('gateway/fault', `Cannot finish: ${message}`, {
    remedy: 'Report it with the command you ran.',
    cause: error,
  });
}
