import type { Printer } from './printer.ts';

/** Says that a call is decided by policies that are no longer those of the files. */
export function tellPolicyProblems(print: Printer): void {
  print.note(
    'The policy files have problems; an earlier set decides.',
    'yellow',
    ' Run `palisade policy check`.',
  );
}
