import { type Check, CODES } from '@palisade/sdk';
import type { Printer } from './printer.ts';

/** Prints each check by its name and gives the exit status. */
export function printReport(
  print: Printer,
  ok: boolean,
  checks: readonly Check[],
  more: Record<string, unknown> = {},
): number {
  if (print.json) print.document({ ok, checks, ...more });
  else {
    for (const check of checks) {
      print.styled(
        check.ok ? 'green' : 'red',
        check.ok ? '✓ ' : '✗ ',
        `${check.name}${check.detail === '' ? '' : `: ${check.detail}`}`,
      );
    }
    if (ok) print.styled('green', 'verified');
    else print.styled('red', 'NOT VERIFIED', '  do not rely on it');
  }
  return ok ? 0 : CODES['attest/unverified'].exitStatus;
}
